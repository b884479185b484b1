/** What the snippet sends: up to four lines: path, referrer, "?utm_source=…", and "true" for a driven browser. */

import { namedSource } from "./sources.js";

/** A longer body is not read to its end, and is no beacon. */
export const BEACON_BYTES = 8_192;

/** Most characters of a page's key. */
export const PAGE_CHARS = 200;

/** What a browser's `location.pathname` can be: everything else is percent-encoded there (URL standard). */
const PATH = /^\/[!#-[\]-~]*$/;

/**
 * @typedef {{page: string, referrer: string, named: string, driven: boolean}} Beacon
 */

/**
 * Reads a body up to the bound. Its length is believed where it is told (the platform holds the sender to it); else the
 * stream is stopped at the bound, so that nobody can fill the isolate's memory.
 * @param {Request} request
 * @returns {Promise<string> | null} "" when the body is too long; null when its length says so
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
  // Leaving the loop cancels the stream.
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > BEACON_BYTES) return "";
    text += decoder.decode(chunk, { stream: true });
  }
  return text;
}

/**
 * @param {string} body
 * @returns {Beacon | null} null: not of our snippet
 */
export function parseBeacon(body) {
  const [path = "", referrer = "", query = "", driven = ""] = body.split("\n", 4);
  if (!PATH.test(path)) return null;
  const end = path.search(/[?#]/);
  const page = (end < 0 ? path : path.slice(0, end)).slice(0, PAGE_CHARS);
  return { page, referrer, named: namedSource(query), driven: driven === "true" };
}

/**
 * Whether a page is under one of the prefixes; a prefix covers whole segments: `/admin` covers `/admin` and
 * `/admin/x`, not `/administrator`; `/admin/` covers what is below it.
 * @param {string} page
 * @param {readonly string[]} prefixes each begins with "/"
 * @returns {boolean}
 */
export function isExcluded(page, prefixes) {
  return prefixes.some((prefix) => page === prefix || page.startsWith(prefix.endsWith("/") ? prefix : `${prefix}/`));
}
