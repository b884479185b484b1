/** Das Snippet auf einer Website einbauen. */

/** @type {typeof import("../en/install.js").default} */
const install = {
  platform: "Plattform",
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
      "Fügen Sie das Snippet vor </head> in jede Seite oder in eine gemeinsame Vorlage ein.",
      "Veröffentlichen Sie die Seiten, und leeren Sie vorhandene Caches.",
    ],
    wordpress: [
      "Installieren Sie ein Plugin, das Code in den Header einfügt, zum Beispiel WPCode.",
      "Öffnen Sie Code Snippets → Header & Footer, und fügen Sie das Snippet bei „Header“ ein.",
      "Speichern Sie, und leeren Sie den Cache, falls Sie ein Cache-Plugin verwenden.",
    ],
    nextjs: [
      "Öffnen Sie app/layout (App Router) oder pages/_app (Pages Router).",
      "Fügen Sie oben den Import ein und vor </body> oder neben <Component> das Element <Script>.",
      "Stellen Sie die Anwendung neu bereit.",
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
      "Speichern Sie das Tag, und wählen Sie Senden → Veröffentlichen.",
    ],
  },
  notes: {
    html: "",
    wordpress: "Wenn ein Plugin Skripte verzögert oder zusammenfasst, nehmen Sie das Snippet davon aus.",
    nextjs:
      "Das Snippet zählt auch Seitenwechsel innerhalb der Anwendung. Verwendet Ihre Content-Security-Policy Nonces, geben Sie die Nonce bei <Script> an.",
    shopify:
      "Checkout-Seiten verwenden das Theme nicht und werden deshalb nicht gezählt. Ein benutzerdefiniertes Pixel eignet sich nicht, weil es in einer Sandbox ohne Zugriff auf die Seite läuft. Der CNAME-Eintrag der Domain (auf shops.myshopify.com) muss über den Proxy laufen.",
    webflow:
      "Webflow erlaubt eigenen Code nur in bezahlten Tarifen. Nur Aufrufe auf Ihrer eigenen Domain werden gezählt. Der CNAME-Eintrag der Domain (auf cdn.webflow.com) muss über den Proxy laufen.",
    gtm: "Wenn Besucher den Tag Manager blockieren oder ihm nicht zustimmen, werden ihre Aufrufe nicht gezählt. Fügen Sie das Snippet besser direkt in die Seiten ein.",
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
