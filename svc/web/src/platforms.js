/**
 * The code that each website platform needs, and the platform that was chosen last for a site. The installation steps
 * are in words/en/install.js; docs/use/snippet.md explains them.
 */

/**
 * @typedef {"html" | "wordpress" | "nextjs" | "shopify" | "webflow" | "gtm"} Platform
 * @typedef {"inline" | "script_tag"} Form
 * @typedef {import("./wire").Snippet} Snippet
 */

/** @type {Platform[]} */
export const PLATFORMS = ["html", "wordpress", "nextjs", "shopify", "webflow", "gtm"];

const NAME = "platforms";
const MOST_KEPT = 100;

/**
 * For Tag Manager, offer only the script tag, because it works with any Content-Security-Policy that allows `'self'`.
 * @param {Platform} platform @returns {Form[]}
 */
export const formsOf = (platform) => (platform === "gtm" ? ["script_tag"] : ["inline", "script_tag"]);

/** @param {Platform} platform @returns {boolean} true if owners of such sites can send a Content-Security-Policy */
export const hasPolicy = (platform) => platform !== "shopify" && platform !== "webflow";

/** @param {Snippet} snippet @param {Form} form @returns {string} what the site's policy must contain */
export const policyOf = (snippet, form) =>
  // The script tag needs no hash, because the browser loads its code from the site's own host.
  `script-src ${form === "inline" ? `'${snippet.csp_hash}'` : "'self'"}; connect-src 'self'`;

/** @param {Platform} platform @param {Form} form @param {Snippet} snippet @returns {string} the code to paste */
export function codeFor(platform, form, snippet) {
  if (platform !== "nextjs") return snippet[form];
  const code = snippet.inline.replace(/^<script>|<\/script>$/g, "");
  const [, src = ""] = /src="([^"]+)"/.exec(snippet.script_tag) ?? [];
  // The snippet contains a template literal, so JSX must contain the snippet as a string. next/script needs an id to
  // identify inline code.
  const element =
    form === "inline"
      ? `<Script id="page-views" dangerouslySetInnerHTML={{ __html: ${JSON.stringify(code)} }} />`
      : `<Script src="${src}" />`;
  return `import Script from "next/script";\n\n${element}`;
}

/** @returns {[string, Platform][]} the chosen platforms by site id, the most recent last */
function kept() {
  try {
    const found = JSON.parse(localStorage.getItem(NAME) ?? "[]");
    return Array.isArray(found) ? found.filter((one) => Array.isArray(one) && PLATFORMS.includes(one[1])) : [];
  } catch {
    // If there is no storage or the value cannot be parsed, the first platform is preselected.
    return [];
  }
}

/** @param {string} site_id @returns {Platform} the platform chosen last for the site, otherwise for any site */
export function keptPlatform(site_id) {
  const all = kept();
  return (all.find(([id]) => id === site_id) ?? all.at(-1))?.[1] ?? "html";
}

/** @param {string} site_id @param {Platform} platform */
export function keepPlatform(site_id, platform) {
  const others = kept().filter(([id]) => id !== site_id);
  try {
    localStorage.setItem(NAME, JSON.stringify([...others, [site_id, platform]].slice(-MOST_KEPT)));
  } catch {
    // If there is no storage, the choice is lost when the page is closed.
  }
}
