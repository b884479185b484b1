/** What a disconnect has left at the edge platform, in the language of the page. */

import { t } from "../words.js";

/**
 * @param {string[]} left the service's own sentences
 * @param {import("../wire").Leftover[]} leftovers the same, by codes
 * @returns {string[]}
 */
export function sayLeft(left, leftovers) {
  const words = t().api;
  return left.map((sentence, i) => {
    const { kind = "", why = "", facts = {} } = leftovers[i] ?? {};
    const said = words.left[kind]?.(facts, words.whys[why]?.(facts) ?? why) ?? sentence;
    return said !== sentence && facts.account ? `${facts.account}: ${said}` : said;
  });
}
