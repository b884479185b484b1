/**
 * Splits a request URL at its delimiters. No parser is needed, because the runtime has already normalized the URL.
 */

/** @typedef {{hostname: string, pathname: string, search: string}} Address */

/**
 * @param {string} url absolute, as in Request.url
 * @returns {Address} hostname: without the port; search: with its "?", or "" without a query
 */
export function readAddress(url) {
  const host = url.indexOf("://") + 3;
  const path = url.indexOf("/", host);
  const query = url.indexOf("?", path);
  const hash = url.indexOf("#", path);
  const end = hash < 0 ? url.length : hash;
  const from = query < 0 || query > end ? end : query;
  // An IPv6 address would have colons before its port, but no link host or site uses an IPv6 address.
  const port = url.indexOf(":", host);
  return {
    hostname: url.slice(host, port < 0 || port > path ? path : port),
    pathname: url.slice(path, from),
    search: url.slice(from, end),
  };
}

/**
 * @param {string} url absolute, as in Request.url
 * @returns {string} scheme, host and port, as in the header Origin
 */
export const originOf = (url) => url.slice(0, url.indexOf("/", url.indexOf("://") + 3));
