/**
 * What an isolate knows of the configuration: the link host, the sites of hosts, single links. The service writes it to
 * the table `config`; an isolate reads by key what a request needs, together with the version, and keeps it as of that
 * version. When it is read is decided in freshness.js.
 */

import { CODE } from "./links.js";
import { findSite, hasPathForm } from "./sites.js";

/** Links that an isolate keeps: about 4 MB. */
const MOST_LINKS = 10_000;
const MOST_MISSING = 2_000;

/** Most hosts, and most links, that are read again because the version has changed; others when they are asked for. */
const MOST_AGAIN = 500;

/** Requests whose wait a read's end ends. One that was ended while it waited stays until then. */
const MOST_WAITING = 1_000;

/**
 * @typedef {import("./links.js").Link} Link
 * @typedef {import("./address.js").Address} Address
 * @typedef {import("./sites.js").Site} Site
 * @typedef {import("./config_query.js").Found} Found
 * @typedef {{link_host: boolean, sites: [string, Site][]}} Host whether it is the link host; its sites by path
 * @typedef {object} Need what a request needs to be answered
 * @property {Address} url
 * @property {string} code "" for none
 * @property {number} at epoch ms when the request came
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
  /** @type {Map<string, Known<Map<string, Site>>>} sites by path, by hostname */
  hosts = new Map();
  /** @type {Map<string, Known<Link>>} by code, the one read longest ago first */
  links = new Map();
  /** @type {Set<string>} codes that are no link's as of `version`, oldest first; for what is answered in an outage */
  missing = new Set();
  /** @type {Set<string>} codes of `missing` whose copies were removed */
  dropped = new Set();
  /** @type {Set<string>} hostnames, and codes, that the next read brings */
  wantedHosts = new Set();
  /** @type {Set<string>} */
  wantedCodes = new Set();
  /** epoch ms when the read that is under way began; 0: none is */
  readingAt = 0;
  /** epoch ms when a read last failed or had no answer in time; 0: the last one was answered */
  failedAt = 0;
  /** numbers of the last read that began, and of the last whose findings were taken */
  begun = 0;
  taken = 0;
  /** @type {Set<() => void>} called when a read has ended: each ends the wait of the request that put it there */
  waiting = new Set();

  /** @param {string} hostname @returns {Map<string, Site> | undefined} by path; undefined: the host is not known */
  sitesOf(hostname) {
    return this.hosts.get(hostname)?.value;
  }

  /** @param {string} code @returns {Link | undefined} as last known */
  link(code) {
    return this.links.get(code)?.value;
  }

  /** @param {Address} url @param {number} at epoch ms when the request came @returns {Need} */
  needOf(url, at) {
    const first = url.pathname.slice(1);
    // On another host than the link host, too, as it may have become the link host meanwhile.
    const isLink = CODE.test(first) && findSite(this, url, at) === null;
    return { url, code: isLink ? first : "", at };
  }

  /**
   * Whether all that a request needs is known as of `version`; notes that it was used. A code that is no link's, and a
   * path that a site could have and none has, may have been given to one meanwhile: only a read that began after the
   * request came tells.
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

  /** Whether what a request needs is known as of any time. @param {Need} need */
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
        if (this.missing.size > MOST_MISSING) deleteFirst(this.missing.keys(), this.missing);
      }
    }
  }

  /** Lets the next read bring what a request needs. @param {Need} need */
  want({ url, code }) {
    this.wantedHosts.add(url.hostname);
    if (code !== "") this.wantedCodes.add(code);
  }

  /** @param {() => void} wake */
  addWaiting(wake) {
    this.waiting.add(wake);
    if (this.waiting.size > MOST_WAITING) deleteFirst(this.waiting, this.waiting);
  }

  /** Ends the wait of all requests that wait for a read. */
  wakeAll() {
    const waiting = [...this.waiting];
    this.waiting.clear();
    for (const wake of waiting) wake();
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

/** @template K @param {Iterable<K>} keys of `from` @param {{delete: (key: K) => boolean}} from */
function deleteFirst(keys, from) {
  for (const key of keys) {
    from.delete(key);
    return;
  }
}
