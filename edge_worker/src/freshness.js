/**
 * When the configuration is read, and who waits for it. Up to FRESH_MS old it is served as it is; up to STALE_MS it is
 * served, and the version is read in the background; older, the request waits for that read. Where the version has
 * changed, what was used lately is read again before any request has to wait for it. While the database fails or is
 * silent, the last known configuration is served at once, from the isolate or from a copy.
 *
 * One read at a time is made for all requests of the isolate. Its promise belongs to the request that began it, and
 * the runtime may cancel both together. Other requests therefore never await it: each waits for its own promise, which
 * the end of the read resolves, and no longer than its own deadline.
 */

import { query } from "./config_query.js";
import { readHostCopy, readLinkCopy } from "./copies.js";
import { SECOND_MS } from "./time.js";
import vocabulary from "./vocabulary.json" with { type: "json" };

/** Configuration up to this age is served as it is. */
export const FRESH_MS = 10 * SECOND_MS;

/** The freshness limit: nothing older is served while the database answers. */
export const STALE_MS = vocabulary.live_after_s * SECOND_MS;

/** A visitor waits no longer for a read; one that takes longer counts as failed until it is answered. */
const WAIT_MS = 2 * SECOND_MS;

/** After a read that failed, the next one begins no sooner. */
const RETRY_MS = 5 * SECOND_MS;

/**
 * @typedef {import("./config.js").Config} Config
 * @typedef {import("./config.js").Need} Need
 * @typedef {import("./config.js").Host} Host
 */

/** @param {Config} config @param {number} now @returns {boolean} whether a read is under way, and not late */
const isReading = ({ readingAt }, now) => readingAt > 0 && now - readingAt < WAIT_MS;

/** @param {Config} config @param {number} now @returns {number} epoch ms when a read failed or was late; 0: none was */
function failedAt(config, now) {
  const lateAt = config.readingAt + WAIT_MS;
  return config.readingAt > 0 && now >= lateAt ? lateAt : config.failedAt;
}

/** @param {Config} config @param {number} now @returns {boolean} whether a read may begin */
function mayRead(config, now) {
  if (isReading(config, now)) return false;
  // After answers, the first late read was perhaps ended with its request: another one tells.
  if (config.readingAt > 0 && config.failedAt === 0) return true;
  const failed = failedAt(config, now);
  return failed === 0 || now >= failed + RETRY_MS;
}

/** @param {Config} config @param {number} now @returns {boolean} whether the database did not answer a moment ago */
function isAway(config, now) {
  const failed = failedAt(config, now);
  return failed > 0 && now - failed < STALE_MS;
}

/**
 * @param {Config} config
 * @param {D1Database} db
 * @param {ExecutionContext} ctx
 * @param {import("./address.js").Address} url of the request
 * @param {number} now
 * @returns {Promise<void> | undefined} to be awaited before `config` is used; undefined when it may be used at once
 */
export function ensure(config, db, ctx, url, now) {
  const need = config.needOf(url, now);
  const age = now - config.readAt;
  if (age < STALE_MS && config.isCurrent(need)) {
    if (age >= FRESH_MS && mayRead(config, now)) beginRead(config, db, ctx, now);
    return undefined;
  }
  if (!isAway(config, now) || !config.isKnown(need)) return catchUp(config, db, ctx, need);
  if (mayRead(config, now)) beginRead(config, db, ctx, now);
  return undefined;
}

/**
 * Waits for what one request needs, which goes into the next read. While one is under way that is the one after it,
 * which the first of those that wait makes for all: however many codes are asked for, known or made up, an isolate has
 * one read at a time.
 * @param {Config} config @param {D1Database} db @param {ExecutionContext} ctx @param {Need} need
 */
async function catchUp(config, db, ctx, need) {
  const number = config.begun + 1;
  const until = () => need.at + (config.isKnown(need) ? WAIT_MS : 2 * WAIT_MS);
  config.want(need);
  for (let now = need.at; now < until(); now = Date.now()) {
    if (config.begun < number && mayRead(config, now)) beginRead(config, db, ctx, now);
    if (!isReading(config, now)) break;
    await readEnds(config, Math.min(until(), config.readingAt + WAIT_MS) - now);
    if (need.at - config.readAt < STALE_MS && config.isCurrent(need)) return;
  }
  await readCopies(config, need);
}

/** Waits until the read that is under way ends, or some other one. @param {Config} config @param {number} mostMs */
async function readEnds(config, mostMs) {
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
  // The answer may go before the read ends, which is learned nevertheless.
  ctx.waitUntil(read(config, db, config.begun, now));
}

/**
 * Reads the version and what is wanted; and when the version has changed, what was used lately, before it is taken.
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
      config.wantAgain();
      for (const hostname of found.hosts.keys()) config.wantedHosts.add(hostname);
      for (const code of found.links.keys()) config.wantedCodes.add(code);
      found = await next();
    }
    // A read that was overtaken by a later one knows less.
    if (number > config.taken) {
      config.taken = number;
      config.take(found, beganAt);
    }
  } catch (error) {
    if (number === config.begun) config.failedAt = Date.now();
    console.warn(`configuration not read: ${String(error)}`);
  }
  if (number === config.begun) config.readingAt = 0;
  config.wakeAll();
}

/** Takes what is not known from a copy, if there is one. @param {Config} config @param {Need} need */
async function readCopies(config, { url: { hostname }, code, at }) {
  if (!config.hosts.has(hostname)) {
    const text = await readHostCopy(hostname);
    if (text === undefined || config.hosts.has(hostname)) return;
    config.keepHost(hostname, text, -1, at);
    if (/** @type {Host} */ (JSON.parse(text)).link_host) config.host = hostname;
  }
  if (code === "" || hostname !== config.host || config.links.has(code)) return;
  const text = await readLinkCopy(hostname, code);
  if (text !== undefined && !config.links.has(code)) config.keepLink(code, text, -1, at);
}
