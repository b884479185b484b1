/**
 * Cached GET requests. Each object is read and polled only once, regardless of how many components show it. Cached data
 * stays on the screen during a reload and appears immediately when a user returns to a page.
 */

import { effect, signal } from "@preact/signals";
import { useEffect, useLayoutEffect } from "preact/hooks";

import { ask, fill } from "./api.js";
import { READ_MS, asApiError, unreachable } from "./http.js";
import { user } from "./session.js";

/**
 * @typedef {import("./api.js").CallName} CallName
 * @typedef {import("./http.js").ApiError} ApiError
 * @typedef {(data: any, polls: number, since_ms: number) => number | null} Pace the delay before the next poll, in ms,
 *   after `polls` consecutive polls and `since_ms` since the first; null to stop polling
 */

/**
 * @template T
 * @typedef {object} Read
 * @property {T | undefined} data the last data read
 * @property {ApiError | undefined} error of the last attempt; if set, `data` is from an earlier attempt
 * @property {boolean} loading true until the first attempt has succeeded or failed
 * @property {number} [changes] the number of writes that have invalidated the data; see `changed`
 * @property {() => void} again reload
 * @property {(data: T) => void} put store the response of a write
 */

// Maximum number of cached resources. With the cache, previously opened pages appear immediately.
const KEPT = 60;
const ERROR_AGAIN_MS = 5_000;
// If a component is mounted within this time after a read, it uses the data from the read and does not read again.
const NEW_MS = 1_000;

class Resource {
  /** @param {string} path */
  constructor(path) {
    this.path = path;
    this.state = signal(/** @type {{data?: any, error?: ApiError}} */ ({}));
    /** @type {Set<Pace | undefined>} */
    this.shown = new Set();
    this.timer = 0;
    this.polls = 0;
    this.began_at_ms = 0;
    this.read_at_ms = -Infinity;
    this.changes = 0;
    /** @type {AbortController | null} */
    this.reading = null;
  }

  async read() {
    if (this.reading) return;
    clearTimeout(this.timer);
    const reading = (this.reading = new AbortController());
    try {
      const data = await (await ask("GET", this.path, { signal: reading.signal, within_ms: READ_MS })).json();
      if (this.reading !== reading) return;
      this.reading = null;
      this.take(data);
    } catch (error) {
      if (this.reading !== reading) return;
      this.reading = null;
      const refused = asApiError(error);
      this.state.value = { ...this.state.peek(), error: refused };
      // When offline, the effect below reads again after the service is reachable.
      if (refused.passes && refused.code !== "offline") {
        this.later(refused.retry_after_s ? 1_000 * refused.retry_after_s : ERROR_AGAIN_MS);
      }
    }
  }

  /** Schedule the next poll, if one of the components wants to poll. */
  plan() {
    const now_ms = performance.now();
    if (this.polls === 0) this.began_at_ms = now_ms;
    const waits = [...this.shown].map((pace) => pace?.(this.state.peek().data, this.polls, now_ms - this.began_at_ms));
    const wait_ms = Math.min(...waits.map((wait) => wait ?? Infinity));
    this.polls = wait_ms === Infinity ? 0 : this.polls + 1;
    if (wait_ms !== Infinity) this.later(wait_ms);
  }

  /** @param {number} wait_ms */
  later(wait_ms) {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => {
      // Hidden pages do not poll. They read again when they become visible.
      if (this.shown.size > 0 && !document.hidden) this.read();
    }, wait_ms);
  }

  /** @param {any} data */
  take(data) {
    this.read_at_ms = performance.now();
    this.state.value = { data };
    this.plan();
  }

  /** @param {any} data */
  put(data) {
    this.drop();
    this.polls = 0;
    this.take(data);
  }

  drop() {
    clearTimeout(this.timer);
    this.reading?.abort();
    this.reading = null;
  }
}

/** @type {Map<string, Resource>} by path, the most recently used last */
const all = new Map();

/** @param {string} path @returns {Resource} */
function find(path) {
  const found = all.get(path) ?? new Resource(path);
  all.delete(path);
  all.set(path, found);
  for (const [old, { shown }] of all) {
    if (all.size <= KEPT) break;
    if (shown.size === 0) all.delete(old);
  }
  return found;
}

/** Reload matching resources that are on the screen. @param {(one: Resource) => boolean} which */
function readAgain(which) {
  for (const one of all.values()) if (one.shown.size > 0 && which(one)) one.read();
}

/**
 * Return the response of a GET request. It is read when the component mounts and whenever the parameters change.
 * @template {Extract<CallName, `GET ${string}`>} N
 * @param {N} name such as `GET /v1/sites/{site_id}`
 * @param {import("./api.js").Input<N> | null} params null to read nothing
 * @param {{pace?: Pace, later?: boolean}} [options] `pace`: the delay between polls; see `whileWorking`; `later`: true
 *   to send the request after the browser has drawn the frame, false (default) to send it before. A component must
 *   always pass the same value
 * @returns {Read<import("./api.js").ResponseOf<N>>}
 */
export function useResource(name, params, { pace, later = false } = {}) {
  const path = params && fill(name.slice("GET ".length), params);
  const one = path === null ? null : find(path);
  (later ? useEffect : useLayoutEffect)(() => {
    if (!one) return undefined;
    // Each component needs a separate entry in `shown`, even without a pace, because the entries count the components.
    /** @type {Pace} */
    const own = (...args) => pace?.(...args) ?? null;
    one.shown.add(own);
    if (one.read_at_ms < performance.now() - NEW_MS) one.read();
    else one.plan();
    return () => {
      one.shown.delete(own);
      if (one.shown.size === 0) one.drop();
    };
  }, [one]);
  const { data, error } = one?.state.value ?? {};
  return {
    data,
    error,
    loading: data === undefined && error === undefined,
    changes: one?.changes ?? 0,
    again: () => one?.read(),
    put: (newer) => one?.put(newer),
  };
}

/**
 * @param {{data?: unknown, error?: {code?: string} | undefined}} read
 * @returns {boolean} true if the object does not exist
 */
export const isMissing = ({ data, error }) => data === undefined && error?.code === "not_found";

/**
 * Invalidate resources after a write. Resources on the screen are reloaded; the others are dropped from the cache.
 * @param {...string} paths prefixes such as `/v1/links`
 */
export function changed(...paths) {
  for (const [path, one] of all) {
    if (!paths.some((begin) => path.startsWith(begin))) continue;
    one.polls = 0;
    one.changes += 1;
    one.read_at_ms = -Infinity;
    // The response of a request that is already running may be older than the write.
    one.drop();
    if (one.shown.size > 0) one.read();
    else all.delete(path);
  }
}

const FIRST_MS = 1_000;
const SLOWEST_MS = 5_000;
const SELF_CHECK_MS = 10_000;
const CONFIG_MS = 2_000;
const CONFIG_SLOW_AFTER_MS = 30_000;

/**
 * The polling interval for an account, site, link or link host while a change to it is in progress.
 * @param {{state?: string, config?: string, operation?: {state: string, step: string} | null} | null} [object]
 * @param {number} [polls] number of polls so far
 * @param {number} [since_ms] time since the first poll
 * @returns {number | null} ms until the next poll; null if nothing is in progress
 */
export function whileWorking(object, polls = 0, since_ms = 0) {
  const running = object?.operation?.state === "running";
  if (running && object?.operation?.step === "selfcheck") return SELF_CHECK_MS;
  if (running || object?.state === "pending" || object?.state === "installing") {
    return Math.min(SLOWEST_MS, FIRST_MS * 1.5 ** polls);
  }
  if (object?.config !== "pending" && object?.state !== "route_pending") return null;
  return since_ms < CONFIG_SLOW_AFTER_MS ? CONFIG_MS : SELF_CHECK_MS;
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) readAgain(({ polls, state }) => polls > 0 || state.value.error !== undefined);
});

effect(() => {
  if (unreachable.value === null) readAgain(({ state }) => state.peek().error?.code === "offline");
});

let user_id = user.peek()?.id;
user.subscribe((now) => {
  if (now && now.id !== user_id) {
    for (const one of all.values()) one.drop();
    all.clear();
  }
  user_id = now?.id ?? user_id;
  // A page that stays on the screen until the user has signed in again shows this error.
  if (now) readAgain(({ state }) => state.peek().error?.code === "unauthorized");
});
