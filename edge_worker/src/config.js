/**
 * The configuration that an isolate (a running instance of the Worker) knows: the link host, each host's sites, and
 * individual links. The service writes the configuration to the table `config`. An isolate reads only the rows that a
 * request needs, in one transaction with the configuration version, and caches them with that version. freshness.js
 * decides when to read.
 */

import { CODE } from "./links.js";
import { findSite, hasPathForm, siteOf } from "./sites.js";
import { dayOf } from "./time.js";

/** Maximum number of links that an isolate caches (about 4 MB). */
const MAX_LINKS = 10_000;
const MAX_MISSING = 2_000;

/**
 * Maximum number of hosts, and of links, to refresh after a version change. Other hosts and links are read on demand.
 */
const MAX_REFRESHED = 500;

/**
 * Maximum number of requests that wait for a read. A request that is canceled while it waits remains in the set, so
 * the set needs a limit.
 */
const MAX_WAITING = 1_000;

/**
 * @typedef {import("./links.js").Link} Link
 * @typedef {import("./address.js").Address} Address
 * @typedef {import("./sites.js").Site} Site
 * @typedef {import("./sites.js").SiteRow} SiteRow
 * @typedef {import("./config_query.js").Found} Found
 * @typedef {import("./config_query.js").LinkHost} LinkHost
 * @typedef {{link_host: boolean | LinkHost, sites: [string, SiteRow][]}} Host link_host: `true` in copies that older
 *   Workers stored; sites: by path
 * @typedef {object} Need identifies the configuration that a request needs
 * @property {Address} url
 * @property {string} code "" for none
 * @property {number} at epoch ms when the request arrived
 */

/**
 * @template T
 * @typedef {object} Known
 * @property {T} value
 * @property {string} text the value as JSON
 * @property {number} version configuration version at the time of the read; -1 for a copy, whose version is unknown
 * @property {number} usedAt epoch ms
 * @property {number} copiedAt epoch ms when this isolate last copied the value to the cache; 0 for never
 */

export class Config {
  /** configuration version of the last read; -1 before the first read */
  version = -1;
  level = 0;
  levelDay = 0;
  cronAt = 0;
  /** @type {LinkHost | undefined} */
  linkHost = undefined;
  /** epoch ms when the first and the last successful read began; 0 before the first */
  firstAt = 0;
  readAt = 0;
  /** @type {Map<string, Known<Map<string, Site>>>} for each hostname, its sites by path */
  hosts = new Map();
  /** @type {Map<string, Known<Link>>} by code, least recently read first */
  links = new Map();
  /** @type {Set<string>} codes without a link as of `version`, oldest first; used during an outage */
  missing = new Set();
  /** @type {Set<string>} codes in `missing` for which this isolate has removed the copy */
  dropped = new Set();
  /** @type {Set<string>} hostnames to fetch with the next read */
  wantedHosts = new Set();
  /** @type {Set<string>} codes to fetch with the next read */
  wantedCodes = new Set();
  /** epoch ms when the read in progress began; 0 if there is none */
  readingAt = 0;
  /** epoch ms when a read last failed or timed out; 0 if the last read succeeded */
  failedAt = 0;
  /** number of the last read that began, and of the last read whose result was stored */
  begun = 0;
  stored = 0;
  /** @type {Set<() => void>} callbacks that wake the requests waiting for a read */
  waiting = new Set();

  /** The hostname of the link host. */
  get host() {
    return this.linkHost?.host;
  }

  /** @param {string} hostname @returns {Map<string, Site> | undefined} by path; undefined if the host is unknown */
  sitesOf(hostname) {
    return this.hosts.get(hostname)?.value;
  }

  /**
   * Returns the level of the write budget. The stored level is valid only on its day. On the next day, the level is 0,
   * even if the cron job has not run yet.
   * @param {number} now epoch ms
   */
  levelAt(now) {
    return dayOf(now) === this.levelDay ? this.level : 0;
  }

  /** @param {string} code @returns {Link | undefined} last known value */
  link(code) {
    return this.links.get(code)?.value;
  }

  /** @param {Address} url @param {number} at epoch ms when the request arrived @returns {Need} */
  needOf(url, at) {
    const first = url.pathname.slice(1);
    // Check this for every host, because another host may have become the link host since the last read.
    const isLink = CODE.test(first) && findSite(this, url, at) === null;
    return { url, code: isLink ? first : "", at };
  }

  /**
   * Returns true if everything that a request needs is known as of `version`, and records the time of use. An unknown
   * code or site path may have been created since the last read. Only a read that began after the request arrived can
   * show that the code or path does not exist.
   * @param {Need} need
   */
  isCurrent({ url, code, at }) {
    const { hostname } = url;
    const host = this.hosts.get(hostname);
    if (host === undefined || host.version !== this.version) return false;
    host.usedAt = at;
    if (hostname !== this.host) return this.readAt >= at || (code === "" && !this.mayBeNewPath(url, at));
    if (code === "") return true;
    if (this.missing.has(code)) return this.readAt >= at;
    const link = this.links.get(code);
    if (link === undefined || link.version !== this.version) return false;
    link.usedAt = at;
    return true;
  }

  /** Returns true if everything that a request needs is known, in any version. @param {Need} need */
  isKnown({ url, code, at }) {
    if (!this.hosts.has(url.hostname)) return false;
    if (url.hostname !== this.host) return !this.mayBeNewPath(url, at);
    return code === "" || this.links.has(code) || this.missing.has(code);
  }

  /** @param {Address} url @param {number} at epoch ms */
  mayBeNewPath(url, at) {
    return hasPathForm(url.pathname) && findSite(this, url, at) === null;
  }

  /** @param {string} hostname @param {string} text Host as JSON @param {number} version @param {number} now */
  keepHost(hostname, text, version, now) {
    const known = this.hosts.get(hostname);
    if (known?.text === text) known.version = version;
    else {
      const { sites } = /** @type {Host} */ (JSON.parse(text));
      const value = new Map(sites.map(([path, row]) => [path, siteOf(row)]));
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
      if (this.links.size > MAX_LINKS) deleteFirst(this.links.keys(), this.links);
    }
  }

  /** @param {Found} found @param {number} now epoch ms when the read began */
  store(found, now) {
    const { version } = found;
    if (version !== this.version) {
      this.missing.clear();
      this.dropped.clear();
    }
    this.version = version;
    this.level = found.level;
    this.levelDay = found.levelDay;
    this.cronAt = found.cronAt;
    this.linkHost = found.linkHost;
    this.readAt = now;
    this.failedAt = 0;
    if (this.firstAt === 0) this.firstAt = now;
    for (const [hostname, text] of found.hosts) this.keepHost(hostname, text, version, now);
    for (const [code, text] of found.links) {
      if (text !== undefined) {
        this.missing.delete(code);
        this.keepLink(code, text, version, now);
      } else {
        this.links.delete(code);
        this.missing.add(code);
        if (this.missing.size > MAX_MISSING) deleteFirst(this.missing.keys(), this.missing);
      }
    }
  }

  /** Adds a request's hostname and code to the next read. @param {Need} need */
  want({ url, code }) {
    this.wantedHosts.add(url.hostname);
    if (code !== "") this.wantedCodes.add(code);
  }

  /** @param {() => void} wake */
  addWaiting(wake) {
    this.waiting.add(wake);
    if (this.waiting.size > MAX_WAITING) deleteFirst(this.waiting, this.waiting);
  }

  /** Wakes all requests that are waiting for a read. */
  wakeAll() {
    const waiting = [...this.waiting];
    this.waiting.clear();
    for (const wake of waiting) wake();
  }

  /** Adds all hosts and codes that were used since the last read to the next read. */
  wantUsed() {
    addUsed(this.hosts, this.readAt, this.wantedHosts);
    addUsed(this.links, this.readAt, this.wantedCodes);
  }
}

/** @param {Map<string, Known<unknown>>} known @param {number} since epoch ms @param {Set<string>} wanted */
function addUsed(known, since, wanted) {
  for (const [key, { usedAt }] of known) {
    if (wanted.size >= MAX_REFRESHED) return;
    if (usedAt >= since) wanted.add(key);
  }
}

/** @template K @param {Iterable<K>} keys of `from` @param {{delete: (key: K) => boolean}} from */
function deleteFirst(keys, from) {
  for (const key of keys) {
    from.delete(key);
    return;
  }
}
