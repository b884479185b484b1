/** Parameters in the query string of a short URL. */

/** Maximum length of a target with the visitor's parameters. Many servers reject request lines of about 8,190 bytes. */
export const MAX_TARGET_CHARS = 8_000;

/** Parameters that are not forwarded: those that only the short link uses (sources.js), and those without a name. */
const NOT_FORWARDED = ["q", "ref", ""];

/** Characters that browsers encode in a query (URL standard, special-query percent-encode set). */
const UNSAFE = /[^!$%&(-;=?-~]+/g;

/** @typedef {{name: string, value?: string}} Parameter decoded; without a value, any value matches */

/** @param {URLSearchParams} sent by the visitor @param {Parameter} parameter @returns {boolean} */
export function hasParameter(sent, { name, value }) {
  const values = sent.getAll(name);
  return value === undefined ? values.length > 0 : values.includes(value);
}

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
  const names = new Set([...NOT_FORWARDED, ...own.split("&").map(nameOf)]);
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
  const end = parameter.indexOf("=");
  const name = end < 0 ? parameter : parameter.slice(0, end);
  return /[%+\u0080-\uffff]/.test(name)
    ? /** @type {string} */ (new URLSearchParams(`name=${name}`).get("name"))
    : name;
}

/** @param {string} text */
const encode = (text) => encodeURIComponent(text.toWellFormed()).replaceAll("'", "%27");
