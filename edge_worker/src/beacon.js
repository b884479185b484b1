/** What the snippet sends: up to four lines: path, referrer, "?utm_source=…", and "true" for a driven browser. */

import { namedSource } from "./sources.js";
import { clean } from "./text.js";

/** The snippet never sends a longer body. */
export const BEACON_CHARS = 8_192;

/** Most characters of a page's key. */
export const PAGE_CHARS = 200;

/**
 * @typedef {{page: string, referrer: string, named: string, driven: boolean}} Beacon
 */

/**
 * @param {string} body
 * @returns {Beacon | null} null: not of our snippet
 */
export function parseBeacon(body) {
  if (body.length > BEACON_CHARS || !body.startsWith("/")) return null;
  const [path = "", referrer = "", query = "", driven = ""] = body.split("\n", 4);
  const cut = path.search(/[?#]/);
  const page = clean(cut < 0 ? path : path.slice(0, cut), PAGE_CHARS);
  return { page, referrer, named: namedSource(query), driven: driven === "true" };
}

/**
 * Whether a page is under one of the prefixes; a prefix covers whole segments: `/admin` covers `/admin` and
 * `/admin/x`, not `/administrator`; `/admin/` covers what is below it.
 * @param {string} page
 * @param {readonly string[]} prefixes each begins with "/"
 * @returns {boolean}
 */
export function isExcluded(page, prefixes) {
  return prefixes.some((prefix) => page === prefix || page.startsWith(prefix.endsWith("/") ? prefix : `${prefix}/`));
}
