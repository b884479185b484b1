/**
 * Derives the source and the campaign of a visit, as short keys. The source "" means a direct visit. The campaign ""
 * means a visit without a campaign.
 */

import { clean } from "./text.js";

/**
 * Maximum length of a source key. A key with non-ASCII letters can have only half of this length, because each of these
 * letters takes six characters in the event log.
 */
export const SOURCE_CHARS = 100;

/** A name in a URL is truncated to this many characters before it is decoded. */
export const NAMED_CHARS = 1_000;

// A referrer is truncated to this many characters. The host name, which has at most 253 characters, always fits (URL
// standard: browsers send it in ASCII).
export const REFERRER_CHARS = 400;
export const REFERRER = /^(?:https?|android-app|ios-app):\/\/(?:[^/?#@]*@)?(\[[\da-f:.]+\]|[\w.-]{1,253})(?:[:/?#]|$)/i;

const ASCII = /^[ -~]*$/;

/** The sign that every email address contains. It is still encoded in a value that is malformed or encoded twice. */
export const AT_SIGN = /@|%(?:25)*40/;

/** The key of a view that followed another view on the same site. */
export const INTERNAL = "(internal)";

/** The key of a scan of a link's QR code. */
export const QR = "qr";

/**
 * Returns the host of a referrer in lower case, without `www.` or port. Returns "" if the referrer has no host.
 * @param {string} referrer
 * @returns {string}
 */
export function referrerHost(referrer) {
  const host = REFERRER.exec(referrer.slice(0, REFERRER_CHARS))?.[1] ?? "";
  return host
    .toLowerCase()
    .replace(/^www\./, "")
    .slice(0, SOURCE_CHARS);
}

/**
 * Normalizes a name of a source or campaign: decodes, trims and lowercases it, and removes control characters. Returns
 * "" for a value that could identify a person (an email address).
 * @param {string} value decoded or not
 * @returns {string}
 */
function normalizeName(value) {
  let text = value.slice(0, NAMED_CHARS);
  try {
    text = decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    // malformed percent-encoding: keep the value as sent
  }
  text = clean(text, SOURCE_CHARS).trim().toLowerCase();
  if (!ASCII.test(text)) text = text.slice(0, SOURCE_CHARS / 2).toWellFormed();
  return AT_SIGN.test(text) ? "" : text;
}

/**
 * Normalizes the name of a source (`utm_source`, `ref`). If the name is a URL, returns the URL's host.
 * @param {string} value decoded or not
 * @returns {string}
 */
export function sourceName(value) {
  const text = normalizeName(value);
  return referrerHost(text) || text.replace(/^www\./, "");
}

const CAMPAIGN = /[?&]utm_campaign=([^&#]*)/;

/**
 * Returns the campaign in a query as a key. The key has the same maximum length as a source key.
 * @param {string} search with its "?"
 * @returns {string} "" for none
 */
export function campaignOf(search) {
  const value = search === "" ? undefined : CAMPAIGN.exec(search)?.[1];
  return value === undefined ? "" : normalizeName(value);
}

/**
 * @param {string} referrer URL of the previous page, "" for none, or a path of the same site
 * @param {string} named value of utm_source or ref, "" for none
 * @param {string} ownHost host of the site or of the link
 * @returns {string}
 */
export function sourceKey(referrer, named, ownHost) {
  if (referrer.startsWith("/")) return INTERNAL;
  const source = named === "" ? "" : sourceName(named);
  if (source !== "") return source;
  if (referrer === "") return "";
  const host = referrerHost(referrer);
  return host !== "" && host === ownHost.replace(/^www\./, "") ? INTERNAL : host;
}

export const NAMED = /[?&](?:utm_source|ref)=([^&#]*)/;
// The marker of QR codes, a query parameter without a value. `?q=shoes` is a search term and not the marker. Some apps
// change `?q` to `?q=`.
export const MARKER = /[?&]q=?(?:&|$)/;

/**
 * Returns the value of utm_source or ref in a query.
 * @param {string} search with its "?"
 * @returns {string} as sent (still encoded), "" for none
 */
export function namedSource(search) {
  return search === "" ? "" : (NAMED.exec(search)?.[1] ?? "");
}

/**
 * Returns the source of a click on a short link. Only the marker identifies a scan. A campaign or host with the name
 * "qr" does not.
 * @param {string} referrer URL of the previous page, "" for none
 * @param {string} search with its "?"
 * @param {string} ownHost host of the link
 * @returns {string}
 */
export function clickSource(referrer, search, ownHost) {
  if (hasMarker(search)) return QR;
  const source = sourceKey(referrer, namedSource(search), ownHost);
  if (source !== QR) return source;
  const host = referrerHost(referrer);
  return host === QR ? "" : sourceKey(referrer, "", ownHost);
}

/** @param {string} search @returns {boolean} true if the query has the marker `q` */
export const hasMarker = (search) => search !== "" && MARKER.test(search);
