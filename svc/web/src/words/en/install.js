/** How to add the snippet to a site. docs/use/snippet.md states the same facts. */

export default {
  platform: "Platform",
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
      "Paste the snippet before </head> in every page, or in a template that all pages share.",
      "Publish the pages, and clear any caches.",
    ],
    wordpress: [
      "Install a plugin that adds code to the header, such as WPCode.",
      "Open Code Snippets → Header & Footer, and paste the snippet into “Header”.",
      "Save, and clear the cache if you use a caching plugin.",
    ],
    nextjs: [
      "Open app/layout (App Router) or pages/_app (Pages Router).",
      "Add the import at the top, and the <Script> element before </body> or next to <Component>.",
      "Deploy.",
    ],
    shopify: [
      "Open Online Store → Themes, then … → Edit code for your current theme.",
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
      "Save the tag, and choose Submit → Publish.",
    ],
  },
  notes: {
    html: "",
    wordpress: "If a plugin delays or combines scripts, configure the plugin to skip the snippet.",
    nextjs:
      "The snippet also counts navigation within the app. If your Content-Security-Policy uses nonces, pass the nonce to <Script>.",
    shopify:
      "Checkout pages do not use the theme, so they are not counted. Do not use a custom pixel: it runs in a sandbox without access to the page. The domain's CNAME record to shops.myshopify.com must be proxied.",
    webflow:
      "Webflow allows custom code only on paid plans. Only views on your own domain are counted. The domain's CNAME record to cdn.webflow.com must be proxied.",
    gtm: "Views by visitors who block Tag Manager, or do not consent to it, are not counted. If you can, add the snippet to the pages directly instead.",
  },
  developer: {
    title: "Does someone else maintain the site?",
    copy: "Copy text for a developer",
    email: "Send by email",
    subject: (/** @type {string} */ host) => `Snippet for ${host}`,
    intro: (/** @type {string} */ host) =>
      `Please add this snippet to every page of ${host}. It counts page views without cookies.`,
    policy: "If the site has a Content-Security-Policy, add:",
    more: "More information:",
  },
};
