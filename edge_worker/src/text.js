/** What a visitor sends, made harmless: well-formed, without control characters, of bounded length. */

// eslint-disable-next-line no-control-regex -- control characters are what is removed here
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

const PRINTABLE = /^[ -~]*$/;

/**
 * The first characters of a header. They are copied: a slice would keep all of the text in memory.
 * @param {string} text
 * @param {number} limit most characters (UTF-16 units) kept
 * @returns {string}
 */
export const cut = (text, limit) => (text.length <= limit ? text : [...text.slice(0, limit)].join(""));

/**
 * @param {string} text
 * @param {number} limit most characters (UTF-16 units) kept
 * @returns {string}
 */
export function clean(text, limit) {
  if (text.length <= limit && PRINTABLE.test(text)) return text;
  return text
    .slice(0, limit * 2)
    .replace(CONTROL, "")
    .slice(0, limit)
    .toWellFormed();
}
