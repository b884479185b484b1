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

/**
 * Returns the language ranges that the visitor accepts, in lower case and by descending weight. Ranges with the same
 * weight keep their order. Ranges with weight 0 and invalid ranges are omitted.
 * @param {string} header Accept-Language
 * @returns {string[]}
 */
export function languageRanges(header) {
  const texts = cut(header, LANGUAGE_CHARS).split(",");
  // If the header was truncated, its last range may be incomplete.
  if (header.length > LANGUAGE_CHARS) texts.pop();
  const accepted = [];
  for (const text of texts) {
    const [, range, q = "1"] = LANGUAGE_RANGE.exec(text) ?? [];
    const weight = Number(q);
    if (range !== undefined && weight > 0) accepted.push({ range: range.toLowerCase(), weight });
  }
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
