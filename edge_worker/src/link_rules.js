/** Finds the rule of a short link that applies to a click. */

import { agentOf, ruleDevice } from "./agents.js";
import { isLanguage, preferredRange } from "./languages.js";
import { hasParameter, parametersOf } from "./link_query.js";

/**
 * @typedef {object} Conditions a condition that is missing matches all clicks
 * @property {string[]} [countries]
 * @property {string[]} [devices] `mobile` or `desktop`
 * @property {string[]} [languages] in lower case; each also matches with further subtags
 * @property {string[]} [os] names of operating systems (agents.js)
 * @property {import("./link_query.js").Parameter} [query] a parameter of the short URL
 *
 * @typedef {Conditions & {url: string, when?: Conditions}} LinkRule when: all conditions of the rule, if it has any
 *   other than countries and devices. `countries` is then an empty list, so that an older Worker, which does not know
 *   `when`, skips the rule
 *
 * @typedef {object} Click
 * @property {string} country @property {string} ua truncated @property {string} search with its "?"
 * @property {{get: (name: string) => string | null | undefined}} headers
 */

/**
 * Returns the first rule whose conditions all match. The device, language and parameters of the click are computed only
 * if a condition needs them.
 * @param {LinkRule[]} rules @param {Click} click
 * @returns {LinkRule | undefined}
 */
export function matchingRule(rules, { country, ua, search, headers }) {
  /** @type {string | undefined} */
  let device;
  /** @type {string | undefined} */
  let language;
  /** @type {[name: string, value: string][] | undefined} */
  let sent;
  for (const rule of rules) {
    const { countries, devices, languages, os, query } = rule.when ?? rule;
    if (countries !== undefined && !countries.includes(country)) continue;
    if (devices !== undefined) {
      device ??= ruleDevice(ua);
      if (!devices.includes(device)) continue;
    }
    if (os !== undefined && !os.includes(agentOf(ua).os)) continue;
    if (query !== undefined) {
      sent ??= parametersOf(search);
      if (!hasParameter(sent, query)) continue;
    }
    if (languages !== undefined) {
      const preferred = (language ??= preferredRange(headers.get("accept-language") ?? ""));
      if (!languages.some((each) => isLanguage(each, preferred))) continue;
    }
    return rule;
  }
  return undefined;
}
