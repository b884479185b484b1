/** The HTML and the headers that all pages of the Worker have in common. */

import { languageOf } from "./languages.js";

/** @typedef {import("./languages.js").Language} Language */

/** The style of all pages. The Content-Security-Policies in vocabulary.json must contain its hash. */
export const STYLE =
  ":root{color-scheme:light dark}body{font:1.1rem/1.5 system-ui,sans-serif;max-width:30rem;margin:15vh auto;padding:0 1rem}" +
  "button{font:inherit;padding:.5rem 1rem}";

/** @param {Language} language @param {string} title @param {string} content HTML @returns {string} HTML */
export const htmlOf = (language, title, content) =>
  `<!doctype html><html lang="${language}"><meta charset="utf-8"><title>${title}</title>` +
  `<meta name="viewport" content="width=device-width"><style>${STYLE}</style><h1>${title}</h1>${content}\n`;

/**
 * Returns a page in the visitor's language. The response to HEAD has the same headers without a body.
 * @param {Request} request GET or HEAD
 * @param {(language: Language) => string} pageIn returns HTML
 * @param {{status: number, headers: Record<string, string>}} more the status, and the headers of this page
 * @returns {Response}
 */
export function htmlPage({ headers, method }, pageIn, more) {
  const language = languageOf(headers.get("accept-language") ?? "");
  return new Response(method === "HEAD" ? null : pageIn(language), {
    status: more.status,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-language": language,
      vary: "accept-language",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "x-robots-tag": "noindex",
      ...more.headers,
    },
  });
}
