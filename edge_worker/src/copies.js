/**
 * Copies of the configuration in the Cache API, for isolates that begin while the database does not answer. A cache
 * belongs to one zone and one data centre, so each route, of the link host and of each site, keeps its own.
 */

import { SECOND_MS } from "./time.js";

/** How often an isolate may put a copy into the Cache API, and for how long it is kept. */
const COPY_EVERY_MS = 5 * SECOND_MS;
const COPY_MAX_AGE_S = 30 * 86_400;

/**
 * @typedef {import("./address.js").Address} Address
 * @typedef {import("./config.js").Config} Config
 * @typedef {{version: number, complete: boolean, rows: [string, unknown][]}} Copy
 */

/**
 * Where copies are put: below the link host's or the site path's own route, where this worker answers and the cache
 * itself never does.
 * @param {Address} url @returns {string[]}
 */
function copyPlaces(url) {
  const [, one = "", two = ""] = url.pathname.split("/");
  return ["", `/${one}`, `/${one}/${two}`].map((path) => `https://${url.hostname}${path}/~config`);
}

/**
 * Fills `config` from the first copy that is found; does nothing when there is none.
 * @param {Config} config @param {Address} url of the request
 */
export async function readCopy(config, url) {
  try {
    for (const place of copyPlaces(url)) {
      const answer = await caches.default.match(place);
      if (answer === undefined) continue;
      const copy = /** @type {Copy} */ (await answer.json());
      for (const [key, value] of copy.rows) config.keep(key, value);
      config.complete = copy.complete;
      // The version stays unknown: the next good read reads all.
      config.readAt = 1;
      return;
    }
  } catch (error) {
    console.warn(`no copy of the configuration: ${String(error)}`);
  }
}

/**
 * Puts a copy where other isolates find it.
 * @param {Config} config
 * @param {Address} url of the request
 * @param {import("./config.js").Site | null} site null: the link host
 * @param {number} now
 * @returns {Promise<void> | undefined} undefined when there is nothing to do
 */
export function copyWhenDue(config, url, site, now) {
  const route = site ?? config;
  if (config.copied.get(route) === config.version || config.version < 0 || now - config.copiedAt < COPY_EVERY_MS) {
    return undefined;
  }
  config.copiedAt = now;
  config.copied.set(route, config.version);
  const place = site === null ? url.hostname : url.hostname + url.pathname;
  const body = JSON.stringify({ version: config.version, complete: config.complete, rows: [...config.rows] });
  const headers = { "content-type": "application/json", "cache-control": `max-age=${COPY_MAX_AGE_S}` };
  return caches.default
    .put(`https://${place}/~config`, new Response(body, { headers }))
    .catch((/** @type {unknown} */ error) => {
      console.warn(`no copy kept of the configuration: ${String(error)}`);
    });
}
