/**
 * Copies in the Cache API of what this worker serves, for isolates that begin while the database does not answer. They
 * lie in a cache of their own name: the default one is the zone's, which may answer anybody for an address that this
 * worker has no route for any more (platform docs: how the cache works). A cache belongs to one zone and one data
 * centre. A host has one copy, which names its own sites only, and each link that was clicked has one.
 */

import { DAY_MS } from "./time.js";

const NAME = "svc-edge";

/** How long a copy is kept, and how often an isolate makes one of something that does not change. */
const MAX_AGE_S = 2 * 86_400;
const COPY_EVERY_MS = DAY_MS / 2;

/** Codes whose copies an isolate remembers to have removed. */
const MOST_DROPPED = 2_000;

/**
 * @typedef {import("./config.js").Config} Config
 * @typedef {import("./config.js").Known<unknown>} Known
 */

/** @param {string} hostname */
const hostPlace = (hostname) => `https://${hostname}/~config`;

/** @param {string} hostname @param {string} code */
const linkPlace = (hostname, code) => `https://${hostname}/~link/${code}`;

/** @param {string} place @returns {Promise<string | undefined>} undefined: there is none, or no cache that answers */
async function readCopy(place) {
  try {
    const cache = await caches.open(NAME);
    return await (await cache.match(place))?.text();
  } catch (error) {
    console.warn(`no copy of the configuration: ${String(error)}`);
    return undefined;
  }
}

/** @param {string} hostname @returns {Promise<string | undefined>} config.Host as JSON */
export const readHostCopy = (hostname) => readCopy(hostPlace(hostname));

/** @param {string} hostname @param {string} code @returns {Promise<string | undefined>} a link as JSON */
export const readLinkCopy = (hostname, code) => readCopy(linkPlace(hostname, code));

/**
 * Copies what a request was answered with, after its answer, where this isolate has not done so lately.
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
 * Removes the copy of a link that is no more, after the answer that says so: a database that fails later must not bring
 * it back here.
 * @param {Config} config @param {ExecutionContext} ctx
 * @param {string} hostname @param {string} code one that the database does not have
 */
export function dropCopyOnce(config, ctx, hostname, code) {
  if (config.dropped.has(code)) return;
  if (config.dropped.size >= MOST_DROPPED) config.dropped.clear();
  config.dropped.add(code);
  ctx.waitUntil(drop(linkPlace(hostname, code)));
}

/** @param {string} place */
async function drop(place) {
  await scheduler.wait(1); // the answer goes first
  try {
    const cache = await caches.open(NAME);
    await cache.delete(place);
  } catch (error) {
    console.warn(`no copy removed of the configuration: ${String(error)}`);
  }
}

/** @param {Known} known @param {number} now */
const isDue = ({ version, copiedAt }, now) => version >= 0 && now - copiedAt >= COPY_EVERY_MS;

/** @param {string} place @param {Known} known @param {number} now */
async function copy(place, known, now) {
  known.copiedAt = now;
  await scheduler.wait(1); // the answer goes first
  try {
    const headers = { "content-type": "application/json", "cache-control": `max-age=${MAX_AGE_S}` };
    const cache = await caches.open(NAME);
    await cache.put(place, new Response(known.text, { headers }));
  } catch (error) {
    console.warn(`no copy kept of the configuration: ${String(error)}`);
  }
}
