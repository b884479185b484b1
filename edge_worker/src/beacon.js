/**
 * Parses the body of a beacon, the request that the snippet sends for each view. The body has four lines: the path, the
 * referrer, "?utm_source=…,&utm_campaign=…", and "true" if a program controls the browser. Older snippets send only one
 * parameter in the third line.
 */

/** Maximum size of a body. A longer body is rejected before all of it is read. */
const BEACON_BYTES = 8_192;

/** Maximum length of the path under which a view is counted. */
export const PAGE_CHARS = 200;

/** The characters of a valid `location.pathname`. Browsers percent-encode all other characters (URL standard). */
const PATH = /^\/[!#-[\]-~]*$/;

/** Matches a comma that the snippet has inserted between two parameters. It does not match commas within a value. */
const BETWEEN = /,(?=[?&](?:utm_(?:ca|s)\w+|ref)=)/g;

/**
 * @typedef {{path: string, referrer: string, search: string, driven: boolean}} Beacon path: the whole path of the page;
 *   search: the parameters that name the source and the campaign
 */

/**
 * Reads a body of at most BEACON_BYTES. The Content-Length header can be trusted, because Cloudflare enforces it.
 * Without the header, the stream is canceled at the limit, so that a sender cannot fill the isolate's memory.
 * @param {Request} request
 * @returns {Promise<string> | null} "" if the body is too long; null if Content-Length exceeds the limit
 */
export function readBody(request) {
  const length = request.headers.get("content-length");
  if (length === null) return readStream(request);
  return Number(length) <= BEACON_BYTES ? request.text() : null;
}

/** @param {Request} request */
async function readStream({ body }) {
  if (body === null) return "";
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  // When the loop ends, the stream is canceled.
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > BEACON_BYTES) return "";
    text += decoder.decode(chunk, { stream: true });
  }
  return text;
}

/**
 * @param {string} body
 * @returns {Beacon | null} null if the snippet could not have sent this body
 */
export function parseBeacon(body) {
  const [address = "", referrer = "", query = "", driven = ""] = body.split("\n", 4);
  if (!PATH.test(address)) return null;
  const end = address.search(/[?#]/);
  const path = end < 0 ? address : address.slice(0, end);
  // Replace the snippet's commas with "&", so that the parameters can be parsed like those of a query.
  return { path, referrer, search: query.replaceAll(BETWEEN, "&"), driven: driven === "true" };
}

/**
 * Returns true if one of the prefixes covers the path. A prefix covers whole segments: `/admin` covers `/admin` and
 * `/admin/x`, but not `/administrator`. The prefix `/admin/` covers only the pages below `/admin/`.
 * @param {string} path
 * @param {readonly string[]} prefixes each begins with "/"
 * @returns {boolean}
 */
export function isExcluded(path, prefixes) {
  return prefixes.some((prefix) => path === prefix || path.startsWith(prefix.endsWith("/") ? prefix : `${prefix}/`));
}
