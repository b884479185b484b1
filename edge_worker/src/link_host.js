/** The link host's responses to requests that do not belong to a link. The Worker does not count these requests. */

import { notFoundPage } from "./not_found_page.js";

/** @typedef {import("./config_query.js").Fallbacks} Fallbacks */

const ROBOTS = "User-agent: *\nDisallow: /\n";
const CACHED = { "cache-control": "public, max-age=86400" };

/** @param {string} location @returns {Response} a redirect that no cache stores */
export const redirectTo = (location) =>
  new Response(null, { status: 302, headers: { location, "cache-control": "no-store" } });

/**
 * Redirects to the owner's fallback URL, or returns the page for unknown codes. The visitor's query is not added to the
 * fallback URL.
 * @param {Request} request GET or HEAD @param {Fallbacks} fallbacks
 * @returns {Response} to a code without a link, or to another path that does not exist
 */
export const answerUnknown = (request, { not_found_url }) =>
  not_found_url === undefined ? notFoundPage(request) : redirectTo(not_found_url);

/**
 * @param {Request} request GET or HEAD @param {string} pathname that cannot be a code @param {Fallbacks} fallbacks
 * @returns {Response}
 */
export function answerOther(request, pathname, fallbacks) {
  const { root_url } = fallbacks;
  switch (pathname) {
    case "/":
      return root_url === undefined ? notFoundPage(request) : redirectTo(root_url);
    case "/robots.txt":
      return new Response(request.method === "HEAD" ? null : ROBOTS, {
        headers: { "content-type": "text/plain; charset=utf-8", ...CACHED },
      });
    case "/favicon.ico":
      return new Response(null, { status: 204, headers: CACHED });
    default:
      return answerUnknown(request, fallbacks);
  }
}
