/** Selects the destination URL of a click on a short link. */

import { matchingRule } from "./link_rules.js";

/**
 * @typedef {import("./link_rules.js").Click} Click
 * @typedef {{target: string, url: string, rules?: import("./link_rules.js").LinkRule[]}} Link
 */

/**
 * Maximum length of the key of a destination URL, and the number of its characters that are taken from the end of the
 * URL.
 */
const SERVED_CHARS = 200;
const SERVED_END_CHARS = 79;
const GAP = "...";

export const CODE = /^[A-Za-z0-9_-]{3,32}$/;

/**
 * Returns the destination URL of a click: the URL of the first matching rule, or the link's own URL if no rule matches.
 * @param {Link} link @param {Click} click
 * @returns {string}
 */
export function targetOf({ url, rules }, click) {
  return rules === undefined ? url : (matchingRule(rules, click)?.url ?? url);
}

/**
 * Returns the key under which clicks with this destination URL are counted. The middle of a long URL is omitted,
 * because URLs that differ only in their parameters differ at the end.
 * @param {string} url
 * @returns {string}
 */
export function servedKey(url) {
  if (url.length <= SERVED_CHARS) return url;
  return url.slice(0, SERVED_CHARS - SERVED_END_CHARS - GAP.length) + GAP + url.slice(-SERVED_END_CHARS);
}
