/** Das Snippet auf einer Website einbauen. */

/** @type {typeof import("../en/install.js").default} */
const install = {
  platform: "Ihre Website",
  platforms: {
    html: "HTML-Seiten",
    wordpress: "WordPress",
    nextjs: "Next.js",
    shopify: "Shopify",
    webflow: "Webflow",
    gtm: "Google Tag Manager",
  },
  steps: {
    html: [
      "Fügen Sie das Snippet vor </head> in jede Seite ein, oder in die Vorlage aller Seiten.",
      "Veröffentlichen Sie die Seiten, und leeren Sie Caches.",
    ],
    wordpress: [
      "Installieren Sie ein Plugin, das Code in den Header einfügt, zum Beispiel WPCode.",
      "Öffnen Sie Code Snippets → Header & Footer, und fügen Sie das Snippet bei „Header“ ein.",
      "Speichern Sie, und leeren Sie den Cache, falls Sie ein Cache-Plugin verwenden.",
    ],
    nextjs: [
      "Öffnen Sie app/layout (App Router) oder pages/_app (Pages Router).",
      "Fügen Sie den Import oben ein und das Element <Script> vor </body> oder neben <Component>.",
      "Stellen Sie die Anwendung bereit.",
    ],
    shopify: [
      "Öffnen Sie Onlineshop → Themes, und wählen Sie bei Ihrem aktuellen Theme … → Code bearbeiten.",
      "Öffnen Sie layout/theme.liquid, und fügen Sie das Snippet vor </head> ein.",
      "Speichern Sie.",
    ],
    webflow: [
      "Öffnen Sie Site settings → Custom code.",
      "Fügen Sie das Snippet bei „Head code“ ein, und speichern Sie.",
      "Veröffentlichen Sie die Website auf Ihrer eigenen Domain.",
    ],
    gtm: [
      "Öffnen Sie Tags → Neu → Tag-Konfiguration → Benutzerdefiniertes HTML, und fügen Sie das Snippet ein.",
      "Wählen Sie als Trigger „Initialization - All Pages“.",
      "Speichern Sie, dann Senden → Veröffentlichen.",
    ],
  },
  notes: {
    html: "",
    wordpress: "Wenn ein Plugin Skripte verzögert oder zusammenfasst, nehmen Sie das Snippet davon aus.",
    nextjs:
      "Das Snippet zählt jede Seite der Anwendung, nicht nur die erste. Bei einer Policy mit Nonce geben Sie die Nonce an.",
    shopify:
      "Seiten des Checkouts verwenden das Theme nicht und werden nicht gezählt. Ein benutzerdefiniertes Pixel funktioniert nicht, weil es in einer Sandbox läuft. Der CNAME-Eintrag der Domain (auf shops.myshopify.com) muss über den Proxy laufen.",
    webflow:
      "Custom code setzt einen bezahlten Tarif voraus. Nur Aufrufe auf Ihrer eigenen Domain werden gezählt. Der CNAME-Eintrag der Domain (auf cdn.webflow.com) muss über den Proxy laufen.",
    gtm: "Wenn Besucher den Tag Manager blockieren oder ihm nicht zustimmen, werden ihre Aufrufe nicht gezählt. Besser ist das Snippet direkt in den Seiten.",
  },
  developer: {
    title: "Betreut jemand anderes die Website?",
    copy: "Text für Entwickler kopieren",
    email: "Per E-Mail senden",
    subject: (host) => `Snippet für ${host}`,
    intro: (host) => `Bitte fügen Sie dieses Snippet in jede Seite von ${host} ein. Es zählt Aufrufe ohne Cookies.`,
    policy: "Falls die Website eine Content-Security-Policy sendet, ergänzen Sie:",
    more: "Mehr dazu:",
  },
};

export default install;
