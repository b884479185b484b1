/** How to add the snippet to a site. docs/use/snippet.md states the same facts. */

export default {
  platform: "Your site",
  platforms: {
    html: "HTML pages",
    wordpress: "WordPress",
    nextjs: "Next.js",
    shopify: "Shopify",
    webflow: "Webflow",
    gtm: "Google Tag Manager",
  },
  steps: {
    html: [
      "Paste the snippet before </head> in every page, or in the template that all pages share.",
      "Publish the pages, and clear caches.",
    ],
    wordpress: [
      "Install a plugin that adds code to the header, such as WPCode.",
      "Open Code Snippets → Header & Footer, and paste the snippet into “Header”.",
      "Save, and clear the cache if you use a caching plugin.",
    ],
    nextjs: [
      "Open app/layout (App Router) or pages/_app (Pages Router).",
      "Add the import at the top, and the <Script> element before </body> or beside <Component>.",
      "Deploy.",
    ],
    shopify: [
      "Open Online Store → Themes, then … → Edit code at your current theme.",
      "Open layout/theme.liquid, and paste the snippet before </head>.",
      "Save.",
    ],
    webflow: [
      "Open Site settings → Custom code.",
      "Paste the snippet into “Head code”, and save.",
      "Publish the site to your own domain.",
    ],
    gtm: [
      "Open Tags → New → Tag Configuration → Custom HTML, and paste the snippet.",
      "Under Triggering, choose “Initialization - All Pages”.",
      "Save, then Submit → Publish.",
    ],
  },
  notes: {
    html: "",
    wordpress: "If a plugin delays or combines scripts, exclude the snippet.",
    nextjs: "The snippet counts each page of the app, not only the first. With a nonce-based policy, pass the nonce.",
    shopify:
      "Checkout pages do not use the theme and are not counted. A custom pixel does not work, because it runs in a sandbox. The domain's CNAME record (to shops.myshopify.com) must be proxied.",
    webflow:
      "Custom code requires a paid plan. Only views on your own domain are counted. The domain's CNAME record (to cdn.webflow.com) must be proxied.",
    gtm: "If visitors block Tag Manager or do not consent to it, their views are not counted. Add the snippet to the pages themselves if you can.",
  },
  developer: {
    title: "Does someone else maintain the site?",
    copy: "Copy text for a developer",
    email: "Send by email",
    subject: (/** @type {string} */ host) => `Snippet for ${host}`,
    intro: (/** @type {string} */ host) =>
      `Please add this snippet to every page of ${host}. It counts page views without cookies.`,
    policy: "If the site sends a Content-Security-Policy, add:",
    more: "More:",
  },
};
