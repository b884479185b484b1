/** Texts about the resources that remain after an account is disconnected. */

import { t } from "../words.js";

/**
 * @param {string[]} left the sentences of the API
 * @param {import("../wire").RemainingResource[]} remaining the same resources, each with its code
 * @returns {string[]} in the reader's language
 */
export function leftTexts(left, remaining) {
  const words = t().api;
  return left.map((sentence, i) => {
    const { kind = "", why = "", facts = {} } = remaining[i] ?? {};
    const said = words.left[kind]?.(facts, words.whys[why]?.(facts) ?? why) ?? sentence;
    return said !== sentence && facts.account ? `${facts.account}: ${said}` : said;
  });
}
