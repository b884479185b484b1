/**
 * The configuration, as far as this isolate was asked for it: the link host, the sites of hosts, single links. The
 * service writes it to the table `config`; an isolate reads by key what a request needs, together with the version, and
 * keeps it as of that version. Older than FRESH_MS: served, and the version is read in the background; where it has
 * changed, what was used lately is read again before any request has to wait for it. Older than STALE_MS: the request
 * waits for that read. When the database fails the last known one is served, from the isolate or from a copy.
 */

import { readHostCopy, readLinkCopy } from "./copies.js";
import { CODE } from "./links.js";
import { MINUTE_MS, SECOND_MS, dayOf } from "./time.js";

/** Configuration up to this age is served as it is. */
export const FRESH_MS = 10 * SECOND_MS;

/** The freshness limit: nothing older is served while the database answers. */
export const STALE_MS = MINUTE_MS;

/** A database that takes longer does not keep a visitor waiting: the last known configuration is served. */
const WAIT_MS = 2 * SECOND_MS;

/** A read that failed is repeated once after this, and then no sooner than RETRY_MS later. */
const AGAIN_MS = 100;
const RETRY_MS = 5 * SECOND_MS;

/** Links that an isolate keeps: about 4 MB. */
const MOST_LINKS = 10_000;
const MOST_MISSING = 2_000;

/** Most hosts, and most links, that are read again because the version has changed; others when they are asked for. */
const MOST_AGAIN = 500;

/**
 * @typedef {import("./links.js").Link} Link
 * @typedef {import("./address.js").Address} Address
 * @typedef {{target: string, script: string, excluded_paths?: string[], respect_gpc?: boolean, until?: number}} Site
 *   script: its name; until: epoch ms
 * @typedef {{link_host: boolean, sites: [string, Site][]}} Host whether it is the link host; its sites by path
 */

/**
 * @template T
 * @typedef {object} Known
 * @property {T} value
 * @property {string} text the value as JSON
 * @property {number} version of the configuration when it was read; -1: a copy of unknown version
 * @property {number} usedAt epoch ms
 * @property {number} copiedAt epoch ms of the copy that this isolate has made of it; 0: none
 */

/**
 * @typedef {object} Found what one read has found
 * @property {number} version
 * @property {number} level of the write budget
 * @property {number} cronAt epoch ms of the last cron that is known of, 0 for none
 * @property {string | undefined} host the link host
 * @property {Map<string, string>} hosts Host as JSON, for each hostname that was asked for
 * @property {Map<string, string | undefined>} links Link as JSON for each code that was asked for; undefined: none
 */

export class Config {
  /** of the last read; -1 before the first */
  version = -1;
  level = 0;
  cronAt = 0;
  /** @type {string | undefined} the link host */
  host = undefined;
  /** epoch ms when the first and the last good read began; 0 before */
  firstAt = 0;
  readAt = 0;
  retryAt = 0;
  /** @type {Map<string, Known<Map<string, Site>>>} sites by path, by hostname */
  hosts = new Map();
  /** @type {Map<string, Known<Link>>} by code, the one read longest ago first */
  links = new Map();
  /** @type {Set<string>} codes that are no link's as of `version`, oldest first */
  missing = new Set();
  /** @type {Set<string>} codes of `missing` whose copies were removed */
  dropped = new Set();
  /** @type {Set<string>} hostnames, and codes, that the next read brings */
  wantedHosts = new Set();
  /** @type {Set<string>} */
  wantedCodes = new Set();
  /** @type {Promise<void> | null} */
  reading = null;
  readingAt = 0;
  /** numbers of the last read that began, and of the last whose findings were taken */
  begun = 0;
  taken = 0;

  /** @param {string} hostname @returns {Map<string, Site> | undefined} by path; undefined: the host is not known */
  sitesOf(hostname) {
    return this.hosts.get(hostname)?.value;
  }

  /** @param {string} code @returns {Link | undefined} as last known */
  link(code) {
    return this.links.get(code)?.value;
  }

  /**
   * Whether all that a request needs is known as of `version`; notes that it was used.
   * @param {string} hostname @param {string} code "" for none @param {number} now
   */
  isCurrent(hostname, code, now) {
    const host = this.hosts.get(hostname);
    if (host === undefined || host.version !== this.version) return false;
    host.usedAt = now;
    if (code === "" || hostname !== this.host || this.missing.has(code)) return true;
    const link = this.links.get(code);
    if (link === undefined || link.version !== this.version) return false;
    link.usedAt = now;
    return true;
  }

  /** @param {string} hostname @param {string} text Host as JSON @param {number} version @param {number} now */
  keepHost(hostname, text, version, now) {
    const known = this.hosts.get(hostname);
    if (known?.text === text) known.version = version;
    else {
      const value = new Map(/** @type {Host} */ (JSON.parse(text)).sites);
      this.hosts.set(hostname, { value, text, version, usedAt: now, copiedAt: 0 });
    }
  }

  /** @param {string} code @param {string} text Link as JSON @param {number} version @param {number} now */
  keepLink(code, text, version, now) {
    const known = this.links.get(code);
    this.links.delete(code);
    if (known?.text === text) {
      known.version = version;
      this.links.set(code, known);
    } else {
      this.links.set(code, { value: JSON.parse(text), text, version, usedAt: now, copiedAt: 0 });
      if (this.links.size > MOST_LINKS) deleteFirst(this.links.keys(), this.links);
    }
  }

  /** @param {Found} found @param {number} now when the read began */
  take(found, now) {
    const { version } = found;
    if (version !== this.version) {
      this.missing.clear();
      this.dropped.clear();
    }
    this.version = version;
    this.level = found.level;
    this.cronAt = found.cronAt;
    this.host = found.host;
    this.readAt = now;
    this.retryAt = 0;
    if (this.firstAt === 0) this.firstAt = now;
    for (const [hostname, text] of found.hosts) this.keepHost(hostname, text, version, now);
    for (const [code, text] of found.links) {
      if (text !== undefined) {
        this.missing.delete(code);
        this.keepLink(code, text, version, now);
      } else {
        this.links.delete(code);
        this.missing.add(code);
        if (this.missing.size > MOST_MISSING) deleteFirst(this.missing.keys(), this.missing);
      }
    }
  }

  /** Whether a read is under way; one of a request that was ended never returns, and nobody waits for it for long. */
  isReading() {
    return this.reading !== null && Date.now() - this.readingAt < WAIT_MS;
  }

  /** Lets the next read bring again what was used since the last one. */
  wantAgain() {
    addUsed(this.hosts, this.readAt, this.wantedHosts);
    addUsed(this.links, this.readAt, this.wantedCodes);
  }
}

/** @param {Map<string, Known<unknown>>} known @param {number} since epoch ms @param {Set<string>} wanted */
function addUsed(known, since, wanted) {
  for (const [key, { usedAt }] of known) {
    if (wanted.size >= MOST_AGAIN) return;
    if (usedAt >= since) wanted.add(key);
  }
}

/** @param {Iterable<string>} keys of `from` @param {{delete: (key: string) => boolean}} from */
function deleteFirst(keys, from) {
  for (const key of keys) {
    from.delete(key);
    return;
  }
}

/**
 * @typedef {object} MetaRow
 * @property {number} version
 * @property {number | null} level @property {number | null} level_day epoch day of the level
 * @property {number | null} cron_at @property {string | null} host
 */
const META =
  "select version.value as version, state.value ->> 'level' as level, state.value ->> '$.written.day' as level_day, " +
  "state.value ->> 'ran_at' as cron_at, " +
  "(select body ->> 'host' from config where key = 'host') as host " +
  "from meta as version left join meta as state on state.key = 'state' where version.key = 'config_version'";

const SITES =
  "select asked.value as hostname, substr(config.key, 6 + length(asked.value)) as path, body " +
  "from json_each(?) as asked cross join config " +
  "on config.key >= 'path:' || asked.value || '/' and config.key < 'path:' || asked.value || '0' " +
  "where body is not null";

const LINKS =
  "select asked.value as code, body from json_each(?) as asked " +
  "cross join config on config.key = 'link:' || asked.value where body is not null";

/**
 * One transaction, and so one instant: the version, and what is asked for as of it.
 * @param {D1Database} db @param {Set<string>} hostnames @param {Set<string>} codes
 * @returns {Promise<Found>}
 */
async function query(db, hostnames, codes) {
  const statements = [db.prepare(META)];
  if (hostnames.size > 0) statements.push(db.prepare(SITES).bind(JSON.stringify([...hostnames])));
  if (codes.size > 0) statements.push(db.prepare(LINKS).bind(JSON.stringify([...codes])));
  const answers = await db.batch(statements).catch(async () => {
    await scheduler.wait(AGAIN_MS);
    return db.batch(statements);
  });
  const [meta] = /** @type {MetaRow[]} */ (answers[0]?.results ?? []);
  const host = meta?.host ?? undefined;
  /** @type {Map<string, string[]>} */
  const sites = new Map([...hostnames].map((hostname) => [hostname, []]));
  /** @type {Map<string, string | undefined>} */
  const links = new Map([...codes].map((code) => [code, undefined]));
  for (const row of answers.slice(1).flatMap(({ results }) => results)) {
    const { hostname, path, code, body } = /** @type {Record<string, string>} */ (row);
    if (code !== undefined) links.set(code, body);
    else sites.get(String(hostname))?.push(`[${JSON.stringify(path)},${body}]`);
  }
  return {
    version: meta?.version ?? 0,
    // A day's level ends with the day, also when no cron has run since.
    level: meta?.level_day === dayOf(Date.now()) ? (meta.level ?? 0) : 0,
    cronAt: meta?.cron_at ?? 0,
    host,
    hosts: new Map(
      [...sites].map(([hostname, list]) => [
        hostname,
        `{"link_host":${hostname === host},"sites":[${list.join(",")}]}`,
      ]),
    ),
    links,
  };
}

/**
 * Reads the version and what is wanted; and when the version has changed, what was used lately, before it is taken.
 * @param {Config} config @param {D1Database} db
 */
async function read(config, db) {
  const began = Date.now();
  config.begun += 1;
  const number = config.begun;
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
    if (number < config.taken) return;
    config.taken = number;
    config.take(found, began);
  } catch (error) {
    config.retryAt = Date.now() + RETRY_MS;
    console.warn(`configuration not read: ${String(error)}`);
  }
}

/**
 * Reads once for all requests that wait, none of them for longer than WAIT_MS.
 * @param {Config} config @param {D1Database} db
 * @returns {Promise<void>}
 */
function readShared(config, db) {
  if (!config.isReading()) {
    config.readingAt = Date.now();
    const reading = read(config, db).finally(() => {
      if (config.reading === reading) config.reading = null;
    });
    config.reading = reading;
  }
  return Promise.race([/** @type {Promise<void>} */ (config.reading), scheduler.wait(WAIT_MS)]);
}

/**
 * @param {Config} config
 * @param {D1Database} db
 * @param {ExecutionContext} ctx
 * @param {Address} url of the request
 * @param {number} now
 * @returns {Promise<void> | undefined} to be awaited before `config` is used; undefined when it may be used at once
 */
export function ensure(config, db, ctx, { hostname, pathname }, now) {
  const first = pathname.slice(1);
  const code = (config.host === undefined || hostname === config.host) && CODE.test(first) ? first : "";
  const age = now - config.readAt;
  if (age >= STALE_MS || !config.isCurrent(hostname, code, now)) return catchUp(config, db, hostname, code, now);
  if (age >= FRESH_MS && now >= config.retryAt && !config.isReading()) ctx.waitUntil(readShared(config, db));
  return undefined;
}

/**
 * What one request needs goes into the next read. While a read is under way that is the one after it, which one of
 * those that wait makes for all: however many codes are asked for, known or made up, an isolate has one read at a time.
 * @param {Config} config @param {D1Database} db @param {string} hostname @param {string} code @param {number} now
 */
async function catchUp(config, db, hostname, code, now) {
  for (let joined = config.isReading(); Date.now() >= config.retryAt; joined = false) {
    config.wantedHosts.add(hostname);
    if (code !== "") config.wantedCodes.add(code);
    await readShared(config, db);
    if (now - config.readAt < STALE_MS && config.isCurrent(hostname, code, now)) return;
    if (!joined) break;
  }
  await readCopies(config, hostname, code, now);
}

/** @param {Config} config @param {string} hostname @param {string} code @param {number} now */
async function readCopies(config, hostname, code, now) {
  if (!config.hosts.has(hostname)) {
    const text = await readHostCopy(hostname);
    if (text === undefined || config.hosts.has(hostname)) return;
    config.keepHost(hostname, text, -1, now);
    if (/** @type {Host} */ (JSON.parse(text)).link_host) config.host = hostname;
  }
  if (code === "" || hostname !== config.host || config.links.has(code)) return;
  const text = await readLinkCopy(hostname, code);
  if (text !== undefined && !config.links.has(code)) config.keepLink(code, text, -1, now);
}
