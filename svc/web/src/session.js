/**
 * The signed-in user and the session. The access token is held only in this module. The refresh token is in a cookie
 * that scripts cannot read. All tabs share one session: one tab refreshes it and sends the result to the other tabs.
 */

import { signal } from "@preact/signals";

import { ApiError, READ_MS, send } from "./http.js";
import { profileLanguage } from "./settings.js";

/**
 * @typedef {import("./wire").User} User
 * @typedef {{token: string, lasts_ms: number, user: User}} SharedSession the message from one tab to the others
 */

// Tokens that expire within this time are not used for new requests.
const SPARE_MS = 30_000;
// The time that a new session needs to reach the other tabs. After this time, the next tab checks whether it still has
// to refresh.
const BROADCAST_MS = 50;
// The time for which a new tab waits for the session of another tab.
const ANSWER_MS = 30;

let token = "";
let ends_at_ms = 0;

/** The signed-in user; undefined if not known yet, null if no user is signed in. */
export const user = signal(/** @type {User | null | undefined} */ (undefined));

/** The reason why the session ended: signed out here, signed out in another tab, or expired. */
export const ended = signal(/** @type {"" | "here" | "elsewhere" | "expired"} */ (""));

/** The last signed-in user, so that a form that waits for a new sign-in is sent only for the same user. */
export const last = signal(/** @type {User | null} */ (null));

const channel = new BroadcastChannel("svc-session");
channel.onmessage = (/** @type {MessageEvent<SharedSession | "end" | "ask">} */ { data }) => {
  if (data === "end") forget("elsewhere");
  else if (data !== "ask") adopt(data);
  else if (fresh()) share();
};
channel.postMessage("ask");
const asked_at_ms = performance.now();

function share() {
  if (user.value) channel.postMessage({ token, lasts_ms: ends_at_ms - performance.now(), user: user.value });
}

/** @param {SharedSession} shared */
function adopt(shared) {
  token = shared.token;
  ends_at_ms = performance.now() + shared.lasts_ms;
  ended.value = "";
  show(shared.user);
}

/** @param {User} known */
function show(known) {
  last.value = known;
  user.value = known;
  profileLanguage.value = known.language;
}

/** @param {"here" | "elsewhere" | "expired" | ""} why */
function forget(why) {
  token = "";
  // Set the reason only if a user was signed in in this tab.
  if (user.value) ended.value = why;
  user.value = null;
  // A page that is waiting for a new sign-in keeps its language.
  if (why !== "expired") profileLanguage.value = null;
}

/** @param {string} [stale] a token that was rejected */
const fresh = (stale) => token !== "" && token !== stale && ends_at_ms - performance.now() > SPARE_MS;

/**
 * Store a new session and share it with the other tabs.
 * @param {Response} response to a sign-in or a refresh
 * @param {() => boolean} [wanted] checked once the response is read; false discards the session
 */
async function begin(response, wanted = () => true) {
  /** @type {import("./wire").NewSession} */
  const session = await response.json();
  if (!wanted()) return;
  // Compute the lifetime with the service's clock, because the local clock may be wrong by hours.
  const now_ms = Date.parse(response.headers.get("Date") ?? "") || Date.now();
  adopt({ token: session.access_token, lasts_ms: Date.parse(session.expires_at) - now_ms, user: session.user });
  share();
}

/** @param {string} path @param {unknown} [body] @param {number} [within_ms] see `send` */
const post = (path, body, within_ms) => send("POST", path, { body, within_ms, credentials: "same-origin" });

/**
 * @param {string} [stale] a token that was rejected with 401
 * @returns {Promise<string>} a valid access token; "" if no user is signed in
 * @throws {ApiError} the service is unreachable or cannot refresh the session now (429, 5xx). The session continues.
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
      await pause(BROADCAST_MS);
    }).catch(reject);
  });
}

/** @param {number} ms @returns {Promise<void>} */
const pause = (ms) => (ms > 0 ? new Promise((over) => setTimeout(over, ms)) : Promise.resolve());

async function refresh() {
  const before = token;
  // If another tab has begun a new session in the meantime, a late response belongs to the previous session.
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
  // Browsers provide locks only in secure contexts (TLS or localhost).
  if (!("locks" in navigator)) return work();
  return /** @type {Promise<void>} */ (navigator.locks.request("svc-refresh", work));
}

/** @param {string} email @param {string} password @throws {ApiError} */
export async function signIn(email, password) {
  await begin(await post("/auth/sign-in", { email, password }));
}

/** Show the changed user in all tabs. @param {User} changed */
export function updateUser(changed) {
  if (user.value?.id !== changed.id) return;
  show(changed);
  share();
}

/** Sign out in all tabs. @throws {ApiError} the service is unreachable, and the session continues */
export async function signOut() {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  await send("POST", "/auth/sign-out", { headers, credentials: "same-origin" });
  end();
}

/** Drop the session in all tabs after the service has ended it. */
export function end() {
  forget("here");
  channel.postMessage("end");
}

/** Find out whether a user is signed in. @throws {ApiError} see `freshToken` */
export async function resume() {
  if ((await freshToken()) === "") user.value = null;
}

/** The number of writes that are waiting for the user to sign in again. */
export const waiting = signal(0);

/**
 * Wait until the user has signed in again in the dialog over the open page.
 * @returns {Promise<boolean>} false if the user declined, or if a different user signed in
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

/** Decline to sign in again. */
export function giveUp() {
  ended.value = "here";
  user.value = undefined; // so that setting `null` is a change that notifies the waiting writes
  user.value = null;
}

// A page restored from the back/forward cache must not show data of a user who has since signed out.
addEventListener("pageshow", ({ persisted }) => {
  if (!persisted) return;
  token = "";
  user.value = undefined;
});
