/** Names of well-known sources. A source is the referring host, the id of an app, or a campaign's `utm_source`. */

import { APPS as NAMED_APPS, GOOGLE, SITES as NAMED_SITES } from "./known-sources.js";

/** Host (without subdomains such as `www` and `m`) → name. */
const SITES = new Map(Object.entries(NAMED_SITES));
/** App id → name. */
const APPS = new Map(Object.entries(NAMED_APPS));
const HOST = /^([a-z0-9-]+\.)+[a-z][a-z0-9-]+$/;

/**
 * @param {string} source
 * @returns {string | null} the name of a well-known site or app, or null
 */
export function sourceName(source) {
  const app = APPS.get(source);
  if (app !== undefined) return app;
  const labels = source.split(".");
  for (let i = 0; i < labels.length - 1; i += 1) {
    const host = labels.slice(i).join(".");
    const name = SITES.get(host);
    if (name !== undefined) return name;
    if (GOOGLE.test(host)) return "Google";
  }
  return null;
}

/**
 * @param {string} source
 * @returns {string | null} the address of the site, or null if the source is not a host
 */
export const sourceAddress = (source) => (HOST.test(source) && !APPS.has(source) ? `https://${source}/` : null);
