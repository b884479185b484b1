/**
 * Reads the titles, notes and tags of links in other products' exports, and shortens them to what the service accepts.
 * An import never rejects a link because of its texts. `svc/imports/links/texts.py` does the same for the command.
 */

import {
  EDGE_ACCOUNT,
  FORMULA_STARTS,
  NOTES,
  NULLS,
  TAGS,
  TAG_PATTERN,
  TEXT_LENGTHS,
  TITLES,
} from "./import-columns.js";

/** @typedef {{title?: string, note?: string, tags?: string[]}} Texts fields of an item of POST /v1/links/bulk */

const CONTROL = /[\x00-\x1f\x7f-\x9f\u2028\u2029]+/g; // eslint-disable-line no-control-regex
const CONTROL_IN_NOTES = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]+/g; // eslint-disable-line no-control-regex
const NOT_IN_TAGS = /[,/\\\u200e\u200f\u202a-\u202e\u2066-\u2069]+/g;
const VALID_TAG = new RegExp(TAG_PATTERN);

/** @param {string} text @param {number} most @returns {string} with an ellipsis if it has more characters */
function cut(text, most) {
  const chars = Array.from(text);
  return chars.length <= most
    ? text
    : `${chars
        .slice(0, most - 1)
        .join("")
        .trimEnd()}…`;
}

/** @param {string} text @returns {string[]} the tags in a JSON list or between separators */
function namesIn(text) {
  if (!text.startsWith("[")) return text.split(/[|,;]/);
  try {
    const items = /** @type {unknown[]} */ (JSON.parse(text));
    return items
      .map((one) => (typeof one === "object" && one !== null && "name" in one ? one.name : one))
      .filter((one) => typeof one === "string");
  } catch {
    return [];
  }
}

/** @param {string} text @returns {string[]} */
function tagsIn(text) {
  const tags = namesIn(text)
    .map((name) => name.replace(CONTROL, " ").replace(NOT_IN_TAGS, " ").normalize("NFC").toLowerCase())
    .map((name) => Array.from(name.split(/\s+/).filter(Boolean).join("-")).slice(0, TEXT_LENGTHS.tag).join(""))
    .filter((tag) => VALID_TAG.test(tag));
  return [...new Set(tags)].slice(0, TEXT_LENGTHS.tags);
}

/**
 * @param {string[]} names of the columns, in lower case, letters and digits only
 * @returns {(fields: string[]) => Texts} reads the texts of a row
 */
export function texts(names) {
  const [title, note, tags] = [TITLES, NOTES, TAGS].map(
    (known) => known.map((name) => names.indexOf(name)).find((place) => place >= 0) ?? -1,
  );
  const isOwn = names.includes(EDGE_ACCOUNT);
  return (fields) => {
    const [whole, about, listed] = [title, note, tags].map((place) => {
      const text = fields[place ?? -1] ?? "";
      if (NULLS.includes(text.toLowerCase())) return "";
      return isOwn && text[0] === "'" && FORMULA_STARTS.includes(text[1] ?? "") ? text.slice(1) : text;
    });
    /** @type {Texts} */
    const found = {};
    if (whole) found.title = cut(whole.replace(CONTROL, " ").replace(/\s+/g, " ").trim(), TEXT_LENGTHS.title);
    if (about) found.note = cut(about.replace(CONTROL_IN_NOTES, " ").trim(), TEXT_LENGTHS.note);
    const known = tagsIn(listed ?? "");
    if (known.length > 0) found.tags = known;
    return found;
  };
}
