/** Where a visit came from, as one short key. "" is a direct visit. */

import { clean } from "./text.js";

/** Most characters of a source key; with letters beyond ASCII half as many: each takes six in the event log. */
export const SOURCE_CHARS = 100;

/** A longer campaign's name is not decoded to its end. */
export const NAMED_CHARS = 1_000;

// No host name has more than 253 characters, and a browser sends it in ASCII (URL standard): a longer start of the
// referrer is not looked at.
export const REFERRER_CHARS = 400;
export const REFERRER = /^(?:https?|android-app|ios-app):\/\/(?:[^/?#@]*@)?(\[[\da-f:.]+\]|[\w.-]{1,253})(?:[:/?#]|$)/i;

const ASCII = /^[ -~]*$/;

/** The key of a view that followed another one on the same site. */
export const INTERNAL = "(internal)";

/** The key of a scan of a link's QR code. */
export const QR = "qr";

/**
 * The host of a referrer: lower case, without `www.`, without port. "" when there is none to be made out.
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
 * A campaign's name (`utm_source`, `ref`): trimmed, lower case; an address becomes its host. A value that could name
 * a person (an e-mail address) is not kept.
 * @param {string} value decoded or not
 * @returns {string}
 */
export function campaign(value) {
  let text = value.slice(0, NAMED_CHARS);
  try {
    text = decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    // a broken escape: kept as it was sent
  }
  text = clean(text, SOURCE_CHARS).trim().toLowerCase();
  if (!ASCII.test(text)) text = text.slice(0, SOURCE_CHARS / 2).toWellFormed();
  if (text.includes("@")) return "";
  return referrerHost(text) || text.replace(/^www\./, "");
}

/**
 * @param {string} referrer the address of the page before, "" for none, or a path of the same site
 * @param {string} named value of utm_source or ref, "" for none
 * @param {string} ownHost host of the site or of the link
 * @returns {string}
 */
export function sourceKey(referrer, named, ownHost) {
  if (referrer.startsWith("/")) return INTERNAL;
  const source = named === "" ? "" : campaign(named);
  if (source !== "") return source;
  if (referrer === "") return "";
  const host = referrerHost(referrer);
  return host !== "" && host === ownHost.replace(/^www\./, "") ? INTERNAL : host;
}

export const NAMED = /[?&](?:utm_source|ref)=([^&#]*)/;
// The marker has no value: `?q=shoes` is a search term of some other site. Programs rewrite `?q` as `?q=`.
export const MARKER = /[?&]q=?(?:&|$)/;

/**
 * utm_source or ref in a query.
 * @param {string} search with its "?"
 * @returns {string} as sent (still encoded), "" for none
 */
export function namedSource(search) {
  return search === "" ? "" : (NAMED.exec(search)?.[1] ?? "");
}

/**
 * The source of a click on a short link. Only the marker makes it a scan: a campaign or a host of that name does not.
 * @param {string} referrer the address of the page before, "" for none
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

/** @param {string} search @returns {boolean} whether the query carries the marker `q` */
export const hasMarker = (search) => search !== "" && MARKER.test(search);
