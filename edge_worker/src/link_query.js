/** Parameters in the query string of a short URL. */

/** Maximum length of a target with the visitor's parameters. Many servers reject request lines over 8,190 bytes. */
export const MAX_TARGET_CHARS = 8_000;

/** Parameters that are not forwarded: those that only the short link uses (sources.js), and those without a name. */
const NOT_FORWARDED = new Set(["q", "ref", ""]);

/** Characters that browsers encode in a query (URL standard, special-query percent-encode set). */
const UNSAFE = /[^!$%&(-;=?-~]+/g;

/** Characters of an encoded parameter, and characters that are not ASCII. */
const ENCODED = /[%+\u0080-\uffff]/;

/** @typedef {{name: string, value?: string}} Parameter decoded; without a value, any value matches */

/**
 * Returns the decoded parameters of a query.
 * @param {string} search with its "?"
 * @returns {[name: string, value: string][]}
 */
export function parametersOf(search) {
  if (ENCODED.test(search)) return [...new URLSearchParams(search)];
  // Most queries are not encoded. For these, the runtime's parser would take most of the CPU time of a link's rules.
  return search.slice(1).split("&").map(splitParameter);
}

/** @param {string} text @returns {[name: string, value: string]} as sent */
function splitParameter(text) {
  const end = text.indexOf("=");
  return end < 0 ? [text, ""] : [text.slice(0, end), text.slice(end + 1)];
}

/** @param {[name: string, value: string][]} sent @param {Parameter} parameter @returns {boolean} */
export const hasParameter = (sent, { name, value }) =>
  sent.some((each) => each[0] === name && (value === undefined || each[1] === value));

/**
 * Adds the visitor's parameters to a target. If the target has a parameter with the same name, it keeps only its own
 * values. Parameters that would make the target too long are omitted.
 * @param {string} target URL in ASCII
 * @param {string} search of the short URL, with its "?"
 * @returns {string}
 */
export function withQuery(target, search) {
  if (search.length < 2) return target;
  const hash = target.indexOf("#");
  const url = hash < 0 ? target : target.slice(0, hash);
  const mark = url.indexOf("?");
  const own = mark < 0 ? "" : url.slice(mark + 1);
  const names = own === "" ? NOT_FORWARDED : new Set([...NOT_FORWARDED, ...own.split("&").map(nameOf)]);
  let longer = mark < 0 ? `${url}?` : url;
  let separator = own === "" || own.endsWith("&") ? "" : "&";
  let left = MAX_TARGET_CHARS - target.length - 1;
  let isChanged = false;
  for (const sent of search.slice(1).split("&")) {
    if (left <= separator.length) break; // no further parameter fits
    if (names.has(nameOf(sent))) continue;
    const text = sent.replace(UNSAFE, encode);
    if (separator.length + text.length > left) continue;
    longer += separator + text;
    left -= separator.length + text.length;
    separator = "&";
    isChanged = true;
  }
  return isChanged ? longer + target.slice(url.length) : target;
}

/** @param {string} parameter as sent @returns {string} its decoded name */
function nameOf(parameter) {
  const [name] = splitParameter(parameter);
  return ENCODED.test(name) ? /** @type {string} */ (new URLSearchParams(`name=${name}`).get("name")) : name;
}

/** @param {string} text */
const encode = (text) => encodeURIComponent(text.toWellFormed()).replaceAll("'", "%27");
