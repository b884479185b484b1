/**
 * Stores copies of the served configuration in the Cache API, for isolates (running instances of the Worker) that start
 * during a database outage. There is one copy per host, with the sites of this host, and one per clicked link. Each
 * zone has its own cache in each data center. The copies are in a named cache. If they were in the default cache, which
 * the zone uses for its own responses, Cloudflare could send a copy to a visitor of a URL without a route to this
 * Worker (Cloudflare docs: how the cache works).
 */

import { DAY_MS } from "./time.js";

const NAME = "svc-edge";

/** Lifetime of a copy, and the interval at which an isolate renews the copy of an item that has not changed. */
const MAX_AGE_S = 2 * 86_400;
const COPY_EVERY_MS = DAY_MS / 2;

/** Maximum number of codes for which an isolate remembers that it has removed the copy. */
const MAX_DROPPED = 2_000;

/**
 * @typedef {import("./config.js").Config} Config
 * @typedef {import("./config.js").Known<unknown>} Known
 */

/** @param {string} hostname */
const hostPlace = (hostname) => `https://${hostname}/~config`;

/** @param {string} hostname @param {string} code */
const linkPlace = (hostname, code) => `https://${hostname}/~link/${code}`;

/** @param {string} place @returns {Promise<string | undefined>} undefined without a copy, or if the cache fails */
async function readCopy(place) {
  try {
    const cache = await caches.open(NAME);
    return await (await cache.match(place))?.text();
  } catch (error) {
    console.warn(`copy of the configuration not read: ${String(error)}`);
    return undefined;
  }
}

/** @param {string} hostname @returns {Promise<string | undefined>} config.Host as JSON */
export const readHostCopy = (hostname) => readCopy(hostPlace(hostname));

/** @param {string} hostname @param {string} code @returns {Promise<string | undefined>} a link as JSON */
export const readLinkCopy = (hostname, code) => readCopy(linkPlace(hostname, code));

/**
 * Copies the configuration that a response is based on, after the response has been sent, unless this isolate has
 * recently copied it.
 * @param {Config} config @param {ExecutionContext} ctx
 * @param {string} hostname @param {string} code of the link, "" for none
 * @param {number} now epoch ms
 */
export function copyWhenDue(config, ctx, hostname, code, now) {
  const host = config.hosts.get(hostname);
  if (host !== undefined && isDue(host, now)) ctx.waitUntil(copy(hostPlace(hostname), host, now));
  const link = code === "" ? undefined : config.links.get(code);
  if (link !== undefined && isDue(link, now)) ctx.waitUntil(copy(linkPlace(hostname, code), link, now));
}

/**
 * Removes the copy of a deleted link after the response has been sent. Otherwise, the link would work again during
 * a database outage.
 * @param {Config} config @param {ExecutionContext} ctx
 * @param {string} hostname @param {string} code a code that is not in the database
 */
export function dropCopyOnce(config, ctx, hostname, code) {
  if (config.dropped.has(code)) return;
  if (config.dropped.size >= MAX_DROPPED) config.dropped.clear();
  config.dropped.add(code);
  ctx.waitUntil(drop(linkPlace(hostname, code)));
}

/** @param {string} place */
async function drop(place) {
  await scheduler.wait(1); // send the response first
  try {
    const cache = await caches.open(NAME);
    await cache.delete(place);
  } catch (error) {
    console.warn(`copy of the configuration not removed: ${String(error)}`);
  }
}

/** @param {Known} known @param {number} now */
const isDue = ({ version, copiedAt }, now) => version >= 0 && now - copiedAt >= COPY_EVERY_MS;

/** @param {string} place @param {Known} known @param {number} now */
async function copy(place, known, now) {
  known.copiedAt = now;
  await scheduler.wait(1); // send the response first
  try {
    const headers = { "content-type": "application/json", "cache-control": `max-age=${MAX_AGE_S}` };
    const cache = await caches.open(NAME);
    await cache.put(place, new Response(known.text, { headers }));
  } catch (error) {
    console.warn(`copy of the configuration not written: ${String(error)}`);
  }
}
