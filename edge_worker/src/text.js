/** Sanitizes text from visitors: removes control characters, limits the length, and makes the text well-formed. */

// eslint-disable-next-line no-control-regex -- this pattern removes control characters
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

const PRINTABLE = /^[ -~]*$/;

/**
 * Truncates a header. The result is a copy, because a slice would keep the whole header in memory.
 * @param {string} text
 * @param {number} limit maximum length in UTF-16 units
 * @returns {string}
 */
export const cut = (text, limit) => (text.length <= limit ? text : [...text.slice(0, limit)].join(""));

/**
 * @param {string} text
 * @param {number} limit maximum length in UTF-16 units
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
