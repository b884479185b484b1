/**
 * The configuration, as this isolate knows it: the link host, every site path, and links. The service writes it to the
 * table `config`; a request reads it from here. Older than FRESH_MS: served, and refreshed in the background with one
 * read. Older than STALE_MS: the request waits for that read. When the database fails the last known one is served,
 * from the isolate or, in a new isolate, from the Cache API.
 */

import { readCopy } from "./copies.js";
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "./time.js";

/** Configuration up to this age is served as it is. */
export const FRESH_MS = 10 * SECOND_MS;

/** The freshness limit: nothing older is served while the database answers. */
export const STALE_MS = MINUTE_MS;

/** After this long the service may have removed tombstones: read all again. */
const RELOAD_MS = HOUR_MS;

/** A database that takes longer does not keep a visitor waiting: the last known configuration is served. */
const WAIT_MS = 2 * SECOND_MS;

/** After a failed read the next one is tried this much later. */
const RETRY_MS = 5 * SECOND_MS;

/** Links read at the start, newest first; an account with more has the others read one by one when they are used. */
const FIRST_LINKS = 500;
const MOST_LINKS = 5_000;
const MOST_MISSING = 1_000;

/** Most reads of single links, at once and per second on average: what bounds the reads that random codes can cause. */
const READS_BURST = 20;
const READS_PER_S = 2;

/** The keys of links and of sites' paths begin with these. */
const LINK = "link:";
const PATH = "path:";

/**
 * @typedef {import("./links.js").Link} Link
 * @typedef {{target: string, script: string, excluded_paths?: string[], until?: number}} Site script: its name;
 *   until: epoch ms
 * @typedef {{key: string, version: number, body: string | null}} Row body: JSON, null for what was removed
 */

export class Config {
  /** of the newest row; -1 before the first read */
  version = -1;
  level = 0;
  /** every link is in `rows`: what is not, does not exist */
  complete = false;
  /** epoch ms of the last good read; 0 before the first */
  readAt = 0;
  loadedAt = 0;
  retryAt = 0;
  copiedAt = 0;
  /** @type {WeakMap<object, number>} the version that the route of each site, and of the link host, has a copy of */
  copied = new WeakMap();
  /** @type {Map<string, unknown>} */
  rows = new Map();
  /** @type {Set<string>} */
  siteHosts = new Set();
  /** @type {Set<string>} links that are known not to exist, oldest first */
  missing = new Set();
  tokens = READS_BURST;
  tokensAt = 0;
  /** @type {Promise<boolean> | null} */
  reading = null;

  /** @returns {string | undefined} */
  get host() {
    return /** @type {{host?: string} | undefined} */ (this.rows.get("host"))?.host;
  }

  /** @param {string} key host and path @returns {Site | undefined} */
  site(key) {
    return /** @type {Site | undefined} */ (this.rows.get(PATH + key));
  }

  /** @param {string} hostname @returns {boolean} whether a site may be there; it may have been removed */
  hasSites(hostname) {
    return this.siteHosts.has(hostname);
  }

  /** @param {string} code @returns {Link | undefined} */
  link(code) {
    return /** @type {Link | undefined} */ (this.rows.get(LINK + code));
  }

  /** @param {Row[]} changed */
  apply(changed) {
    for (const { key, body } of changed) {
      this.missing.delete(key);
      if (body === null) this.rows.delete(key);
      else this.keep(key, JSON.parse(body));
    }
  }

  /** @param {string} key @param {unknown} value */
  keep(key, value) {
    this.rows.set(key, value);
    if (key.startsWith(PATH)) this.siteHosts.add(key.slice(PATH.length, key.indexOf("/")));
  }

  /**
   * @param {string} key
   * @param {string | null} body null: there is none
   */
  keepLink(key, body) {
    if (body === null) {
      this.missing.add(key);
      if (this.missing.size > MOST_MISSING) this.missing.delete(/** @type {string} */ (first(this.missing)));
      return;
    }
    this.rows.set(key, JSON.parse(body));
    if (this.rows.size > MOST_LINKS) {
      for (const known of this.rows.keys()) {
        if (!known.startsWith(LINK)) continue;
        this.rows.delete(known);
        break;
      }
    }
  }

  /** @param {number} now @returns {boolean} whether a read of a single link may be made */
  takeToken(now) {
    this.tokens = Math.min(READS_BURST, this.tokens + ((now - this.tokensAt) / SECOND_MS) * READS_PER_S);
    this.tokensAt = now;
    if (this.tokens < 1) return false;
    this.tokens -= 1;
    return true;
  }
}

/** @template T @param {Iterable<T>} items @returns {T | undefined} */
function first(items) {
  for (const item of items) return item;
  return undefined;
}

const META =
  "select value, (select value ->> 'level' from meta where key = 'state') as level " +
  "from meta where key = 'config_version'";

/**
 * @param {Config} config
 * @param {D1Database} db
 * @param {number} now
 */
async function load(config, db, now) {
  const [meta, fixed, links] = await db.batch([
    db.prepare(META),
    db.prepare(
      "select key, version, body from config " +
        "where (key = 'host' or (key >= 'path:' and key < 'path;')) and body is not null",
    ),
    db
      .prepare(
        "select key, version, body from config indexed by config_by_version " +
          "where version > -1 and key >= 'link:' and key < 'link;' and body is not null order by version desc limit ?",
      )
      .bind(FIRST_LINKS + 1),
  ]);
  const rows = /** @type {Row[]} */ (links?.results ?? []);
  config.rows.clear();
  config.siteHosts.clear();
  config.missing.clear();
  config.complete = rows.length <= FIRST_LINKS;
  config.apply(/** @type {Row[]} */ (fixed?.results ?? []));
  config.apply(rows);
  config.loadedAt = now;
  noteMeta(config, meta?.results[0], now);
}

/**
 * @param {Config} config
 * @param {D1Database} db
 * @param {number} now
 */
async function refresh(config, db, now) {
  const [meta, changed] = await db.batch([
    db.prepare(META),
    db
      .prepare("select key, version, body from config indexed by config_by_version where version > ?")
      .bind(config.version),
  ]);
  config.apply(/** @type {Row[]} */ (changed?.results ?? []));
  noteMeta(config, meta?.results[0], now);
}

/** @param {Config} config @param {unknown} row @param {number} now */
function noteMeta(config, row, now) {
  const meta = /** @type {{value: number, level: number | null} | undefined} */ (row);
  config.version = Number(meta?.value ?? 0);
  config.level = Number(meta?.level ?? 0);
  config.readAt = now;
}

/**
 * @param {Config} config @param {D1Database} db @param {number} now
 * @returns {Promise<boolean>} whether it was read
 */
async function read(config, db, now) {
  try {
    if (config.version < 0 || now - config.loadedAt >= RELOAD_MS) await load(config, db, now);
    else await refresh(config, db, now);
    return true;
  } catch (error) {
    config.retryAt = now + RETRY_MS;
    console.warn(`configuration not read: ${String(error)}`);
    return false;
  }
}

/**
 * Reads once for all requests that want it now. A request that is cancelled takes its read with it (a promise of
 * another request may then never settle), so nobody waits longer than WAIT_MS.
 * @param {Config} config @param {D1Database} db @param {number} now
 * @returns {Promise<boolean>}
 */
function readShared(config, db, now) {
  if (config.reading === null) {
    const reading = read(config, db, now).finally(() => {
      if (config.reading === reading) config.reading = null;
    });
    config.reading = reading;
  }
  const shared = config.reading;
  return Promise.race([
    shared,
    scheduler.wait(WAIT_MS).then(() => {
      if (config.reading === shared) config.reading = null;
      return false;
    }),
  ]);
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
  const age = now - config.readAt;
  if (age < FRESH_MS) return undefined;
  if (now < config.retryAt && config.readAt > 0) return undefined;
  if (age < STALE_MS) {
    if (config.reading === null) ctx.waitUntil(readShared(config, db, now));
    return undefined;
  }
  return catchUp(config, db, url, now);
}

/** @param {Config} config @param {D1Database} db @param {import("./address.js").Address} url @param {number} now */
async function catchUp(config, db, url, now) {
  if (now < config.retryAt || (await readShared(config, db, now)) || config.readAt > 0) return;
  await readCopy(config, url);
}

/**
 * @param {Config} config
 * @param {D1Database} db
 * @param {string} code
 * @param {number} now
 * @returns {Promise<Link | undefined | "busy">} busy: not known, and not to be read now
 */
export async function findLink(config, db, code, now) {
  const key = LINK + code;
  const known = config.link(code);
  if (known !== undefined || config.complete || config.missing.has(key)) return known;
  if (!config.takeToken(now)) return "busy";
  const { version } = config;
  try {
    const row = /** @type {{body: string | null} | null} */ (
      await db.prepare("select body from config where key = ?").bind(key).first()
    );
    const body = row?.body ?? null;
    // A refresh meanwhile may have brought a newer one: then this one is used once and not kept.
    if (config.version === version) config.keepLink(key, body);
    return config.link(code) ?? (body === null ? undefined : JSON.parse(body));
  } catch (error) {
    console.warn(`link not read: ${String(error)}`);
    return "busy";
  }
}
