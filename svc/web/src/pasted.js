/** Converts text that users paste into fields for URLs and hosts to the form that the API expects. */

const SCHEME = /^https?:\/\//i;
/** A host with a dot, followed by a port, path, query or nothing. */
const HOST = /^[^\s/?#@:]+\.[^\s/?#@:]+(?=[:/?#]|$)/;

/**
 * @param {string} text such as `shop.example/sale` or `http://shop.example`
 * @returns {string} the same address with https; text that is not a web address is only trimmed
 */
export function asUrl(text) {
  const rest = text.trim().replace(SCHEME, "").replace(/^\/\//, "");
  return HOST.test(rest) ? `https://${rest}` : text.trim();
}

/**
 * @param {string} text such as `https://www.shop.example/sale`
 * @returns {string} its host: `www.shop.example`; text without a host is only trimmed
 */
export function asHost(text) {
  const rest = text.trim().replace(SCHEME, "").replace(/^\/\//, "");
  return HOST.exec(rest)?.[0] ?? text.trim();
}
