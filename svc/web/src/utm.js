/**
 * Reads and changes the UTM parameters of a URL. All other parts of the URL keep their spelling and order. Pure
 * functions.
 */

/** The parameters, without the prefix `utm_`, in the order in which they are added. */
export const UTM = /** @type {const} */ (["source", "medium", "campaign", "term", "content"]);

/** @typedef {typeof UTM[number]} Utm */

/** @param {string} url @returns {{base: string, parameters: string[], fragment: string}} */
function parts(url) {
  const [, base = "", query = "", fragment = ""] = /^([^?#]*)(?:\?([^#]*))?(#[^]*)?$/.exec(url) ?? [];
  return { base, parameters: query === "" ? [] : query.split("&"), fragment };
}

/** @param {string} parameter @param {Utm} name @returns {boolean} */
const is = (parameter, name) => parameter.split("=", 1)[0]?.toLowerCase() === `utm_${name}`;

/** @param {string} text from a query @returns {string} */
function plain(text) {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
}

/** @param {string} url @param {Utm} name @returns {string} the value; "" if the URL does not have the parameter */
export function utmOf(url, name) {
  const found = parts(url).parameters.find((parameter) => is(parameter, name)) ?? "";
  return plain(found.slice(found.indexOf("=") + 1 || found.length));
}

/**
 * @param {string} url
 * @param {Utm} name
 * @param {string} value "" removes the parameter
 * @returns {string} the URL with the parameter
 */
export function withUtm(url, name, value) {
  const { base, parameters, fragment } = parts(url.trim());
  const at = parameters.findIndex((parameter) => is(parameter, name));
  const others = parameters.filter((parameter) => !is(parameter, name));
  const own = value === "" ? [] : [`utm_${name}=${encodeURIComponent(value)}`];
  const all = others.toSpliced(at < 0 ? others.length : at, 0, ...own);
  return `${base}${all.length > 0 ? `?${all.join("&")}` : ""}${fragment}`;
}
