/** Reads the visitor's languages, and selects the language of the Worker's pages. */

import { cut } from "./text.js";

/** @typedef {"en" | "de" | "fr" | "es" | "it" | "nl" | "pt" | "pl" | "ja" | "zh"} Language */

/** @type {readonly Language[]} the first language is the default */
export const LANGUAGES = ["en", "de", "fr", "es", "it", "nl", "pt", "pl", "ja", "zh"];

/** A longer header is truncated. Browsers send at most a few hundred characters. */
export const LANGUAGE_CHARS = 500;

/** A language range, or "*" for any language, with its weight (RFC 9110, 12.5.4). */
export const LANGUAGE_RANGE =
  /^[ \t]*(\*|[a-z]{1,8}(?:-[a-z0-9]{1,8})*)[ \t]*(?:;[ \t]*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)[ \t]*)?$/i;

/** @typedef {{range: string, weight: number}} Accepted range: in lower case */

/** @param {string} header Accept-Language @returns {string[]} its items */
function itemsOf(header) {
  const items = cut(header, LANGUAGE_CHARS).split(",");
  // If the header was truncated, its last item may be incomplete.
  if (header.length > LANGUAGE_CHARS) items.pop();
  return items;
}

/** @param {string} item @returns {Accepted | undefined} undefined if it is invalid or its weight is 0 */
function readItem(item) {
  const [, range, q = "1"] = LANGUAGE_RANGE.exec(item) ?? [];
  const weight = Number(q);
  return range !== undefined && weight > 0 ? { range: range.toLowerCase(), weight } : undefined;
}

/**
 * Returns the language range that the visitor prefers to all others.
 * @param {string} header Accept-Language
 * @returns {string} in lower case; the first range with the highest weight; "" for none
 */
export function preferredRange(header) {
  let preferred = { range: "", weight: 0 };
  for (const item of itemsOf(header)) {
    const accepted = readItem(item);
    if (accepted !== undefined && accepted.weight > preferred.weight) preferred = accepted;
    if (preferred.weight === 1) break; // the highest weight
  }
  return preferred.range;
}

/**
 * Returns the language ranges that the visitor accepts, in lower case and by descending weight. Ranges with the same
 * weight keep their order. Ranges with weight 0 and invalid ranges are omitted.
 * @param {string} header Accept-Language
 * @returns {string[]}
 */
function languageRanges(header) {
  const accepted = itemsOf(header)
    .map(readItem)
    .filter((each) => each !== undefined);
  return accepted.sort((a, b) => b.weight - a.weight).map(({ range }) => range);
}

/**
 * @param {string} language in lower case, such as "de" or "pt-br" @param {string} range in lower case
 * @returns {boolean} true if the range is this language, with any further subtags
 */
export const isLanguage = (language, range) => range === language || range.startsWith(`${language}-`);

/**
 * Returns the language with the highest weight. If weights are equal, the first language in the header wins.
 * @param {string} header Accept-Language
 * @returns {Language} "en" if the header has none of the languages
 */
export function languageOf(header) {
  for (const range of languageRanges(header)) {
    const found = LANGUAGES.find((language) => isLanguage(language, range));
    if (found !== undefined) return found;
  }
  return "en";
}
