/**
 * Who is signed in. The access token lives in this module and nowhere else; the refresh token is in a cookie that no
 * script can read. All tabs share one session: one of them refreshes it, the others take over what it got.
 */

import { signal } from "@preact/signals";

import { ApiError, READ_MS, send } from "./http.js";

/**
 * @typedef {import("./wire").User} User
 * @typedef {{token: string, lasts_ms: number, user: User}} Told what one tab tells the others
 */

// What is left of a token's time when it is no longer used for a new request.
const SPARE_MS = 30_000;
// How long the others have to hear of a refresh before the next of them looks.
const HEARD_MS = 50;
// How long a new tab waits for one that has a session already.
const ANSWER_MS = 30;

let token = "";
let ends_at_ms = 0;

/** undefined: not known yet; null: nobody is signed in. */
export const user = signal(/** @type {User | null | undefined} */ (undefined));

/** Why nobody is signed in any more: the user left, here or in another tab, or the session's time was over. */
export const ended = signal(/** @type {"" | "here" | "elsewhere" | "expired"} */ (""));

/** Who was signed in last, so that a form that waits goes on with the same user only. */
export const last = signal(/** @type {User | null} */ (null));

const channel = new BroadcastChannel("svc-session");
channel.onmessage = (/** @type {MessageEvent<Told | "end" | "ask">} */ { data }) => {
  if (data === "end") forget("elsewhere");
  else if (data !== "ask") adopt(data);
  else if (fresh()) tell();
};
channel.postMessage("ask");
const asked_at_ms = performance.now();

function tell() {
  if (user.value) channel.postMessage({ token, lasts_ms: ends_at_ms - performance.now(), user: user.value });
}

/** @param {Told} told */
function adopt(told) {
  token = told.token;
  ends_at_ms = performance.now() + told.lasts_ms;
  ended.value = "";
  last.value = told.user;
  user.value = told.user;
}

/** @param {"here" | "elsewhere" | "expired" | ""} why */
function forget(why) {
  token = "";
  // Who never was signed in here has lost nothing.
  if (user.value) ended.value = why;
  user.value = null;
}

/** @param {string} [stale] a token that was refused */
const fresh = (stale) => token !== "" && token !== stale && ends_at_ms - performance.now() > SPARE_MS;

/**
 * Takes over a session that the service has just given, and tells the other tabs.
 * @param {Response} answer of a sign-in or a refresh
 * @param {() => boolean} [wanted] whether it still is, once it is read
 */
async function begin(answer, wanted = () => true) {
  /** @type {import("./wire").NewSession} */
  const session = await answer.json();
  if (!wanted()) return;
  // By the service's clock: this machine's may be hours off.
  const now_ms = Date.parse(answer.headers.get("Date") ?? "") || Date.now();
  adopt({ token: session.access_token, lasts_ms: Date.parse(session.expires_at) - now_ms, user: session.user });
  tell();
}

/** @param {string} path @param {unknown} [body] @param {number} [within_ms] as `send` */
const post = (path, body, within_ms) => send("POST", path, { body, within_ms, credentials: "same-origin" });

/**
 * @param {string} [stale] a token that was answered with 401
 * @returns {Promise<string>} a token that works; "" when nobody is signed in
 * @throws {ApiError} the service was not reached, or cannot refresh now (429, 5xx): nobody is signed out by that
 */
export function freshToken(stale) {
  if (fresh(stale)) return Promise.resolve(token);
  return new Promise((resolve, reject) => {
    oneTabAtATime(async () => {
      try {
        await pause(asked_at_ms + ANSWER_MS - performance.now());
        if (!fresh(stale)) await refresh();
        resolve(token);
      } catch (error) {
        return reject(error);
      }
      await pause(HEARD_MS);
    }).catch(reject);
  });
}

/** @param {number} ms @returns {Promise<void>} */
const pause = (ms) => (ms > 0 ? new Promise((over) => setTimeout(over, ms)) : Promise.resolve());

async function refresh() {
  const before = token;
  // Meanwhile somebody may have signed in in another tab: an answer that comes late is about the session before.
  const newest = () => token === before;
  try {
    await begin(await post("/auth/refresh", undefined, READ_MS), newest);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
    if (newest()) forget("expired");
  }
}

/** @param {() => Promise<void>} work */
function oneTabAtATime(work) {
  // Without TLS, at an address that is not this machine's, a browser has no locks.
  if (!("locks" in navigator)) return work();
  return /** @type {Promise<void>} */ (navigator.locks.request("svc-refresh", work));
}

/** @param {string} email @param {string} password @throws {ApiError} */
export async function signIn(email, password) {
  await begin(await post("/auth/sign-in", { email, password }));
}

/** Ends the session, in all tabs. @throws {ApiError} the service was not reached: the session goes on */
export async function signOut() {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  await send("POST", "/auth/sign-out", { headers, credentials: "same-origin" });
  end();
}

/** Forgets the session, which the service has ended, in all tabs. */
export function end() {
  forget("here");
  channel.postMessage("end");
}

/** Looks up whether somebody is signed in. @throws {ApiError} as `freshToken` */
export async function resume() {
  if ((await freshToken()) === "") user.value = null;
}

/** How many writes wait until the user has signed in again. */
export const waiting = signal(0);

/**
 * Waits until the user has signed in again, over the page that is open.
 * @returns {Promise<boolean>} false: nobody did, or somebody else
 */
export function signedInAgain() {
  const before = last.value?.id;
  waiting.value += 1;
  return new Promise((resolve) => {
    const stop = user.subscribe((now) => {
      if (!now && ended.peek() === "expired") return;
      waiting.value -= 1;
      resolve(now?.id === before && before !== undefined);
      queueMicrotask(() => stop());
    });
  });
}

/** Whoever was asked to sign in again does not. */
export function giveUp() {
  ended.value = "here";
  user.value = undefined; // `null` would be no change, and those who wait would not hear of it
  user.value = null;
}

// A page that the browser had put aside shows nothing of a user who has left meanwhile.
addEventListener("pageshow", ({ persisted }) => {
  if (!persisted) return;
  token = "";
  user.value = undefined;
});
