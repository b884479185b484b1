/**
 * What pages read of the service. One object is read once, and polled once, however many components show it; what was
 * read stays on the screen while it is read again, and is there at once when somebody comes back to it.
 */

import { effect, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { ask, fill } from "./api.js";
import { READ_MS, asApiError, unreachable } from "./http.js";
import { user } from "./session.js";

/**
 * @typedef {import("./api.js").CallName} CallName
 * @typedef {import("./http.js").ApiError} ApiError
 * @typedef {(data: any, looks: number, since_ms: number) => number | null} Pace how long to wait before the next look,
 *   in ms, after `looks` of them in a row and `since_ms` since the first; null: nothing more is awaited
 */

/**
 * @template T
 * @typedef {object} Read
 * @property {T | undefined} data what was read last
 * @property {ApiError | undefined} error why the newest try failed; `data` is then what was read before
 * @property {boolean} loading nothing was read yet, and nothing failed
 * @property {() => void} again reads it once more
 * @property {(data: T) => void} put shows what a write has answered
 */

// So many are kept that nobody shows: the way back is quick.
const KEPT = 60;
const ERROR_AGAIN_MS = 5_000;
// What was read a moment ago is not read again by a component that comes later.
const NEW_MS = 1_000;

class Resource {
  /** @param {string} path */
  constructor(path) {
    this.path = path;
    this.state = signal(/** @type {{data?: any, error?: ApiError}} */ ({}));
    /** @type {Set<Pace | undefined>} */
    this.shown = new Set();
    this.timer = 0;
    this.looks = 0;
    this.began_at_ms = 0;
    this.read_at_ms = -Infinity;
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
      // What cannot be reached is read as soon as it can; see below.
      if (refused.passes && refused.code !== "offline") {
        this.later(refused.retry_after_s ? 1_000 * refused.retry_after_s : ERROR_AGAIN_MS);
      }
    }
  }

  /** Looks again where something is awaited. */
  plan() {
    const now_ms = performance.now();
    if (this.looks === 0) this.began_at_ms = now_ms;
    const waits = [...this.shown].map((pace) => pace?.(this.state.peek().data, this.looks, now_ms - this.began_at_ms));
    const wait_ms = Math.min(...waits.map((wait) => wait ?? Infinity));
    this.looks = wait_ms === Infinity ? 0 : this.looks + 1;
    if (wait_ms !== Infinity) this.later(wait_ms);
  }

  /** @param {number} wait_ms */
  later(wait_ms) {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => {
      // Nobody looks: the page reads it when it is seen again.
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
    this.looks = 0;
    this.take(data);
  }

  drop() {
    clearTimeout(this.timer);
    this.reading?.abort();
    this.reading = null;
  }
}

/** @type {Map<string, Resource>} the one that was shown last at the end */
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

/** @param {(one: Resource) => boolean} which of those that are on the screen */
function readAgain(which) {
  for (const one of all.values()) if (one.shown.size > 0 && which(one)) one.read();
}

/**
 * What a GET answers, read when the component is shown first and whenever its parts change.
 * @template {Extract<CallName, `GET ${string}`>} N
 * @param {N} name as `GET /v1/sites/{site_id}`
 * @param {import("./api.js").Taken<N> | null} params null: nothing is read
 * @param {{pace?: Pace}} [options] `pace`: when to look again; see `whileWorking`
 * @returns {Read<import("./api.js").Answer<N>>}
 */
export function useResource(name, params, { pace } = {}) {
  const path = params && fill(name.slice("GET ".length), params);
  const one = path === null ? null : find(path);
  useEffect(() => {
    if (!one) return undefined;
    // Each component has an entry of its own, also where it has no pace.
    /** @type {Pace} */
    const own = (...looked) => pace?.(...looked) ?? null;
    one.shown.add(own);
    if (one.read_at_ms < performance.now() - NEW_MS) one.read();
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
    again: () => one?.read(),
    put: (newer) => one?.put(newer),
  };
}

/**
 * After a write: what begins with one of these paths is not what was read. What is shown is read again, the rest is
 * forgotten.
 * @param {...string} paths as `/v1/links`
 */
export function changed(...paths) {
  for (const [path, one] of all) {
    if (!paths.some((begin) => path.startsWith(begin))) continue;
    one.looks = 0;
    one.read_at_ms = -Infinity;
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
 * How often to look at an account, a site, a link or a link host while something of it is under way.
 * @param {{state?: string, config?: string, operation?: {state: string, step: string} | null} | null} [object]
 * @param {number} [looks] how often it was looked at already
 * @param {number} [since_ms] since the first of them
 * @returns {number | null} ms until the next look; null: nothing is under way
 */
export function whileWorking(object, looks = 0, since_ms = 0) {
  const running = object?.operation?.state === "running";
  if (running && object?.operation?.step === "selfcheck") return SELF_CHECK_MS;
  if (running || object?.state === "pending" || object?.state === "installing") {
    return Math.min(SLOWEST_MS, FIRST_MS * 1.5 ** looks);
  }
  if (object?.config !== "pending" && object?.state !== "route_pending") return null;
  return since_ms < CONFIG_SLOW_AFTER_MS ? CONFIG_MS : SELF_CHECK_MS;
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) readAgain(({ looks, state }) => looks > 0 || state.value.error !== undefined);
});

effect(() => {
  if (unreachable.value === null) readAgain(({ state }) => state.peek().error?.code === "offline");
});

let whose = user.peek()?.id;
user.subscribe((now) => {
  if (now && now.id !== whose) {
    for (const one of all.values()) one.drop();
    all.clear();
  }
  whose = now?.id ?? whose;
});
