/** Short links: the rules of one link. */

import { ruleDevice } from "./agents.js";

/**
 * @typedef {{c?: string[], d?: string[], u: string}} LinkRule
 * @typedef {{t: string, u: string, r?: LinkRule[]}} Link
 */

export const CODE = /^[A-Za-z0-9_-]{3,32}$/;

/**
 * The address a click goes to: that of the first rule whose countries and devices (those it names) both match.
 * @param {Link} link
 * @param {string} country
 * @param {string} ua
 * @returns {string}
 */
export function targetOf(link, country, ua) {
  if (link.r === undefined) return link.u;
  /** @type {string | undefined} */
  let device;
  for (const rule of link.r) {
    if (rule.c !== undefined && !rule.c.includes(country)) continue;
    if (rule.d !== undefined) {
      device ??= ruleDevice(ua);
      if (!rule.d.includes(device)) continue;
    }
    return rule.u;
  }
  return link.u;
}
