/**
 * Lets visitors turn counting off for their browser, if the site's owner offers this. A cookie stores the choice. The
 * Worker stores nothing else in browsers.
 */

import { originOf } from "./address.js";
import { htmlPage } from "./html_page.js";
import { pageIn } from "./opt_out_page.js";
import vocabulary from "./vocabulary.json" with { type: "json" };

/**
 * The path of the opt-out page, relative to the site's path. It cannot be the path of the site's script, which ends
 * with ".js".
 */
export const OPT_OUT_PATH = "/off";

/** 400 days, which is the longest lifetime that browsers allow (RFC 6265bis, 5.5). */
const MAX_AGE_S = 34_560_000;

const OPTED_OUT = /(?:^|;) *__Secure-uncounted=1 *(?:;|$)/;

/**
 * Browsers send the cookie only to the site path for which it was set. Other values of the cookie have no meaning.
 * @param {Headers} headers @returns {boolean} true if the visitor has turned counting off in this browser
 */
export const hasOptedOut = (headers) => OPTED_OUT.test(headers.get("cookie") ?? "");

/** @param {string} path of the site @param {boolean} isOff @returns {string} a Set-Cookie header */
const cookieOf = (path, isOff) =>
  `__Secure-uncounted=${isOff ? "1" : ""}; Path=${path}; HttpOnly; Secure; SameSite=Lax; Max-Age=${isOff ? MAX_AGE_S : 0}`;

/**
 * Returns true if the opt-out page itself sent the request. Pages from other origins must not change the choice. The
 * cookie attribute SameSite does not prevent this: if a form of another site sends the request, the browser still
 * stores the cookie of the response. Browsers send the header Origin with every POST. Older browsers do not send
 * Sec-Fetch-Site, so it is checked only if present.
 * @param {Request} request
 */
function isSameOrigin({ headers, url }) {
  return headers.get("origin") === originOf(url) && (headers.get("sec-fetch-site") ?? "same-origin") === "same-origin";
}

/**
 * Responds to a request for the opt-out page. Only a POST with the query "?off" or "?on" changes the choice. The body
 * is ignored.
 * @param {Request} request @param {string} search the query, with its "?" @param {string} path of the site
 * @returns {Response}
 */
export function answerOptOut(request, search, path) {
  const { headers, method } = request;
  if (method === "GET" || method === "HEAD") return optOutPage(request, hasOptedOut(headers));
  if (method !== "POST") return respond(405, { allow: "GET, HEAD, POST" });
  if (!isSameOrigin(request)) return respond(403);
  if (search !== "?off" && search !== "?on") return respond(400);
  const cookie = cookieOf(path, search === "?off");
  return respond(303, { location: `${path}${OPT_OUT_PATH}`, "set-cookie": cookie });
}

/** @param {number} status @param {Record<string, string>} [headers] */
const respond = (status, headers = {}) =>
  new Response(null, { status, headers: { "cache-control": "no-store", ...headers } });

/**
 * The referrer policy makes browsers send the form's origin instead of "null" (Fetch standard, "append a request Origin
 * header"). The Content-Security-Policy prevents other pages from showing this page in a frame and tricking visitors
 * into a click.
 * @param {Request} request @param {boolean} isOff
 */
const optOutPage = (request, isOff) =>
  htmlPage(request, (language) => pageIn(language, isOff), {
    status: 200,
    headers: {
      vary: "accept-language, cookie",
      "content-security-policy": vocabulary.opt_out_policy,
      "referrer-policy": "same-origin",
    },
  });
