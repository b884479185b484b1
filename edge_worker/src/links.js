/** Selects the destination URL of a click on a short link. */

import { matchingRule } from "./link_rules.js";
import { variantOf } from "./link_split.js";

/**
 * @typedef {import("./link_rules.js").Click & {bucket: () => number}} Click bucket: that of the visitor (link_split.js)
 * @typedef {object} Link
 * @property {string} target @property {string} url
 * @property {import("./link_rules.js").LinkRule[]} [rules]
 * @property {import("./link_split.js").Variant[]} [split] replaces `url` for clicks that match no rule
 * @property {true} [forward_query]
 * @property {number} [starts_at] @property {number} [ends_at] epoch ms; `ends_at` is the first moment after the period
 * @property {string} [after_url] where clicks outside of the period go
 */

/**
 * Maximum length of the key of a destination URL, and the number of the key's characters that are taken from the end of
 * the URL.
 */
const SERVED_CHARS = 200;
const SERVED_END_CHARS = 79;
const GAP = "...";

export const CODE = /^[A-Za-z0-9_-]{3,32}$/;

/**
 * Returns the destination URL of a click, before the query of the short URL is added to it. This is the URL of the
 * first matching rule. If no rule matches, it is the URL of the visitor's variant, or the link's own URL if the link
 * has no variants.
 * @param {Link} link @param {Click} click
 * @returns {string}
 */
export function targetOf({ url, rules, split }, click) {
  const rule = rules === undefined ? undefined : matchingRule(rules, click);
  if (rule !== undefined) return rule.url;
  return split === undefined ? url : (variantOf(split, click.bucket()) ?? url);
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
