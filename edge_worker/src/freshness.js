/**
 * Decides when an isolate (a running instance of the Worker) reads the configuration, and which requests wait:
 * - Up to an age of FRESH_MS, configuration is served without a read.
 * - Up to STALE_MS, configuration is served while the isolate reads the version in the background.
 * - If the configuration is older, the request waits for this read.
 *
 * After a version change, the isolate refreshes recently used items, so that requests do not have to wait for them.
 * When a read has failed or timed out, the isolate serves the last known configuration from memory without waiting. If
 * the isolate does not know the configuration, it uses a copy.
 *
 * All requests of an isolate share one read. The read's promise belongs to the request that started the read, and the
 * runtime may cancel both. Other requests therefore never await this promise. Instead, each request awaits a separate
 * promise, which is resolved when the read ends, and stops waiting at its own deadline.
 */

import { query } from "./config_query.js";
import { readHostCopy, readLinkCopy } from "./copies.js";
import { SECOND_MS } from "./time.js";
import vocabulary from "./vocabulary.json" with { type: "json" };

/** Configuration up to this age is served without a read. */
const FRESH_MS = 10 * SECOND_MS;

/** While the database responds, configuration older than this is not served. */
const STALE_MS = vocabulary.live_after_s * SECOND_MS;

/**
 * Maximum time that a visitor waits for one read. A read that takes longer counts as failed until it completes.
 */
const WAIT_MS = 2 * SECOND_MS;

/** Minimum pause between a failed read and the next one. */
const RETRY_MS = 5 * SECOND_MS;

/**
 * @typedef {import("./config.js").Config} Config
 * @typedef {import("./config.js").Need} Need
 * @typedef {import("./config.js").Host} Host
 */

/** @param {Config} config @param {number} now @returns {boolean} true if a read is in progress and not late */
const isReading = ({ readingAt }, now) => readingAt > 0 && now - readingAt < WAIT_MS;

/** @param {Config} config @param {number} now @returns {number} epoch ms when a read last failed or timed out, or 0 */
function failedAt(config, now) {
  const lateAt = config.readingAt + WAIT_MS;
  return config.readingAt > 0 && now >= lateAt ? lateAt : config.failedAt;
}

/** @param {Config} config @param {number} now @returns {boolean} true if a read may begin */
function mayRead(config, now) {
  if (isReading(config, now)) return false;
  // The read in progress is late. If the read before it succeeded, the late read may only have been canceled together
  // with its request. A second read shows whether the database is failing.
  if (config.readingAt > 0 && config.failedAt === 0) return true;
  const failed = failedAt(config, now);
  return failed === 0 || now >= failed + RETRY_MS;
}

/** @param {Config} config @param {number} now @returns {boolean} true if a read of the database recently failed */
function isDown(config, now) {
  const failed = failedAt(config, now);
  return failed > 0 && now - failed < STALE_MS;
}

/**
 * @param {Config} config
 * @param {D1Database} db
 * @param {ExecutionContext} ctx
 * @param {import("./address.js").Address} url of the request
 * @param {number} now
 * @returns {Promise<void> | undefined} to be awaited before using `config`; undefined if `config` can be used
 *   immediately
 */
export function ensure(config, db, ctx, url, now) {
  const need = config.needOf(url, now);
  const age = now - config.readAt;
  if (age < STALE_MS && config.isCurrent(need)) {
    if (age >= FRESH_MS && mayRead(config, now)) beginRead(config, db, ctx, now);
    return undefined;
  }
  if (!isDown(config, now) || !config.isKnown(need)) return waitForConfig(config, db, ctx, need);
  if (mayRead(config, now)) beginRead(config, db, ctx, now);
  return undefined;
}

/**
 * Adds the configuration that one request needs to the next read, and waits for this read. If another read is in
 * progress, the first waiting request starts a read for all waiting requests when the current read ends. An isolate
 * therefore has only one read at a time, even if visitors request many codes that do not exist.
 * @param {Config} config @param {D1Database} db @param {ExecutionContext} ctx @param {Need} need
 */
async function waitForConfig(config, db, ctx, need) {
  const number = config.begun + 1;
  const until = () => need.at + (config.isKnown(need) ? WAIT_MS : 2 * WAIT_MS);
  config.want(need);
  for (let now = need.at; now < until(); now = Date.now()) {
    if (config.begun < number && mayRead(config, now)) beginRead(config, db, ctx, now);
    if (!isReading(config, now)) break;
    await waitForReadEnd(config, Math.min(until(), config.readingAt + WAIT_MS) - now);
    if (need.at - config.readAt < STALE_MS && config.isCurrent(need)) return;
  }
  await readCopies(config, need);
}

/** Waits until any read ends, but at most `mostMs`. @param {Config} config @param {number} mostMs */
async function waitForReadEnd(config, mostMs) {
  /** @type {() => void} */
  let wake = () => {};
  const ended = new Promise((resolve) => {
    wake = () => resolve(undefined);
  });
  config.addWaiting(wake);
  await Promise.race([ended, scheduler.wait(mostMs)]);
  config.waiting.delete(wake);
}

/** @param {Config} config @param {D1Database} db @param {ExecutionContext} ctx @param {number} now */
function beginRead(config, db, ctx, now) {
  config.failedAt = failedAt(config, now);
  config.readingAt = now;
  config.begun += 1;
  // The response may be sent before the read ends, and waitUntil lets the read complete.
  ctx.waitUntil(read(config, db, config.begun, now));
}

/**
 * Reads the version and the wanted items. After a version change, this also reads the recently used items before it
 * stores the result.
 * @param {Config} config @param {D1Database} db @param {number} number of the read @param {number} beganAt epoch ms
 */
async function read(config, db, number, beganAt) {
  const next = () => {
    const { wantedHosts, wantedCodes } = config;
    config.wantedHosts = new Set();
    config.wantedCodes = new Set();
    return query(db, wantedHosts, wantedCodes);
  };
  try {
    let found = await next();
    if (found.version !== config.version && config.hosts.size > 0) {
      config.wantUsed();
      for (const hostname of found.hosts.keys()) config.wantedHosts.add(hostname);
      for (const code of found.links.keys()) config.wantedCodes.add(code);
      found = await next();
    }
    // If a later read ended first, the stored data is newer.
    if (number > config.stored) {
      config.stored = number;
      config.store(found, beganAt);
    }
  } catch (error) {
    if (number === config.begun) config.failedAt = Date.now();
    console.warn(`configuration not read: ${String(error)}`);
  }
  if (number === config.begun) config.readingAt = 0;
  config.wakeAll();
}

/** Reads missing configuration from copies, if possible. @param {Config} config @param {Need} need */
async function readCopies(config, { url: { hostname }, code, at }) {
  if (!config.hosts.has(hostname)) {
    const text = await readHostCopy(hostname);
    if (text === undefined || config.hosts.has(hostname)) return;
    config.keepHost(hostname, text, -1, at);
    const { link_host } = /** @type {Host} */ (JSON.parse(text));
    if (link_host !== false) config.linkHost = link_host === true ? { host: hostname } : link_host;
  }
  if (code === "" || hostname !== config.host || config.links.has(code)) return;
  const text = await readLinkCopy(hostname, code);
  if (text !== undefined && !config.links.has(code)) config.keepLink(code, text, -1, at);
}
