/** Selects the language of the Worker's pages. */

import { cut } from "./text.js";

/** @typedef {"en" | "de" | "fr" | "es" | "it" | "nl" | "pt" | "pl" | "ja" | "zh"} Language */

/** @type {readonly Language[]} the first language is the default */
export const LANGUAGES = ["en", "de", "fr", "es", "it", "nl", "pt", "pl", "ja", "zh"];

/** A longer header is truncated. Browsers send at most a few hundred characters. */
const LANGUAGE_CHARS = 500;

/** A language range with its weight (RFC 9110, 12.5.4). The region does not matter. */
const RANGE = /^([a-z]{1,8})(?:-[a-z0-9]{1,8})*(?:\s*;\s*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?$/;

/**
 * Returns the language with the highest weight. If weights are equal, the first language in the header wins.
 * @param {string} header Accept-Language
 * @returns {Language} "en" if the header has none of the languages
 */
export function languageOf(header) {
  const full = header.length <= LANGUAGE_CHARS;
  // If the header was truncated, its last range may be incomplete.
  const ranges = cut(header, LANGUAGE_CHARS).toLowerCase().split(",");
  /** @type {Language} */
  let best = "en";
  let highest = 0;
  for (const range of full ? ranges : ranges.slice(0, -1)) {
    const [, language = "", q = "1"] = RANGE.exec(range.trim()) ?? [];
    const weight = Number(q);
    const found = LANGUAGES.find((one) => one === language);
    if (found !== undefined && weight > highest) [best, highest] = [found, weight];
  }
  return best;
}
