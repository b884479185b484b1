/** The languages that the form offers for rules. The browser supplies their names. */

import { locale } from "./format.js";

// The languages in which most websites are written, and the official languages of Europe.
const TAGS =
  "af am ar az be bg bn bs ca cs cy da de el en es et eu fa fi fr ga gl gu he hi hr hu hy id is it ja ka kk km kn ko ku " +
  "ky lb lo lt lv mk ml mn mr ms mt my nb ne nl nn pa pl ps pt pt-br ro ru si sk sl sq sr sv sw ta te th tl tr uk ur uz " +
  "vi zh zh-hans zh-hant zu";

/** A language tag as the service accepts it. */
const TAG = /^[a-z]{2,8}(-[a-z0-9]{1,8})*$/;
const LONGEST_TAG = 35;

/** Locale of the interface → its names of languages. @type {Map<string, Intl.DisplayNames>} */
const names = new Map();

/** @param {string} tag @returns {string} the language's name in the reader's language; the tag if it has none */
export function languageName(tag) {
  const reader = locale();
  const known = names.get(reader) ?? new Intl.DisplayNames(reader, { type: "language" });
  names.set(reader, known);
  try {
    return known.of(tag) ?? tag;
  } catch {
    return tag;
  }
}

/**
 * @param {string[]} also tags that are always listed
 * @param {string} query in lower case
 * @returns {{code: string, name: string}[]} the languages whose name or tag matches, sorted by name; also a language
 *   that is not in the list, if the query is its tag
 */
export function languages(also, query) {
  const listed = [...new Set([...TAGS.split(" "), ...also])].map((code) => ({ code, name: languageName(code) }));
  const found = listed.filter(({ code, name }) => code.startsWith(query) || name.toLocaleLowerCase().includes(query));
  const isNew = TAG.test(query) && query.length <= LONGEST_TAG && !listed.some(({ code }) => code === query);
  const named = isNew ? languageName(query) : query;
  if (isNew && named !== query) found.push({ code: query, name: named });
  const { compare } = new Intl.Collator(locale());
  return found.sort((a, b) => compare(a.name, b.name));
}
