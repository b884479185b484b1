/** Selects the destination URL of a click on a short link. */

import { ruleDevice } from "./agents.js";

/**
 * @typedef {{countries?: string[], devices?: string[], url: string}} LinkRule
 * @typedef {{target: string, url: string, rules?: LinkRule[]}} Link
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
 * A rule without countries matches every country, and a rule without devices matches every device.
 * @param {Link} link
 * @param {string} country
 * @param {string} ua
 * @returns {string}
 */
export function targetOf(link, country, ua) {
  if (link.rules === undefined) return link.url;
  /** @type {string | undefined} */
  let device;
  for (const rule of link.rules) {
    if (rule.countries !== undefined && !rule.countries.includes(country)) continue;
    if (rule.devices !== undefined) {
      device ??= ruleDevice(ua);
      if (!rule.devices.includes(device)) continue;
    }
    return rule.url;
  }
  return link.url;
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
