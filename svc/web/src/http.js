/** One request to the service, and whether it can be reached at all. */

import { signal } from "@preact/signals";

/**
 * @typedef {{path: string, code?: string, message: string, limit?: number}} Issue what is wrong with one field of a
 *   body; path "" is all of it
 * @typedef {{
 *   body?: unknown,
 *   headers?: Record<string, string>,
 *   credentials?: RequestCredentials,
 *   signal?: AbortSignal | undefined,
 *   within_ms?: number | undefined,
 * }} Sending `within_ms`: how long its answer may take to begin; as long as the browser waits where it is not given
 */

/** Refusals of status 502 that the service replays under the same Idempotency-Key: a new try needs a new key. */
const FINAL = ["token_rights_mismatch", "token_check_failed"];

/** A refusal of the service, or that it could not be reached. */
export class ApiError extends Error {
  /**
   * @param {string} code out of the service's catalogue, or `offline` (not reached), `unexpected` (no answer of it)
   * @param {string} [message] the service's own words
   * @param {{status?: number, details?: Record<string, unknown>, retry_after_s?: number | undefined}} [more]
   */
  constructor(code, message = code, { status = 0, details = {}, retry_after_s } = {}) {
    super(message);
    this.code = code;
    this.status = status;
    this.details = details;
    this.retry_after_s = retry_after_s;
  }

  /** @returns {Issue[]} */
  get issues() {
    return Array.isArray(this.details.issues) ? this.details.issues : [];
  }

  /** Whether the same request may well succeed a little later. @returns {boolean} */
  get passes() {
    if (FINAL.includes(this.code)) return false;
    return this.code === "offline" || this.status === 429 || this.status >= 500;
  }
}

/** @param {unknown} thrown @returns {ApiError} */
export const asApiError = (thrown) =>
  thrown instanceof ApiError ? thrown : new ApiError("unexpected", String(thrown));

/** The waits between tries to reach the service, in seconds; the last one holds on. */
const TRY_AGAIN_S = [2, 5, 10, 20, 30];
// A read, or a refresh of the session, that nothing answers for so long is given up and tried again: a connection may
// have died without a word, and all tabs wait for a refresh. It is more than the service takes for any of them.
export const READ_MS = 60_000;
// What stands before a service that is away.
const AWAY = [502, 503, 504];

/** When the service, which could not be reached, is tried again (ms since 1970); null: it answers. */
export const unreachable = signal(/** @type {number | null} */ (null));
let tries = 0;
let timer = 0;

/**
 * @param {string} method
 * @param {string} path
 * @param {Sending} [sending] `body` is sent as JSON
 * @returns {Promise<Response>} an answer that is no refusal
 * @throws {ApiError}
 */
export async function send(
  method,
  path,
  { body, headers = {}, credentials = "omit", signal: aborted, within_ms } = {},
) {
  const late = new AbortController();
  const patience = within_ms && setTimeout(() => late.abort(), within_ms);
  /** @type {RequestInit} */
  const init = { method, credentials, cache: "no-store", headers: { Accept: "application/json", ...headers } };
  init.signal = aborted ? AbortSignal.any([aborted, late.signal]) : late.signal;
  if (method !== "GET") {
    init.headers = { ...init.headers, "Content-Type": "application/json" };
    init.body = JSON.stringify(body ?? {});
  }
  let answer;
  try {
    answer = await fetch(path, init);
  } catch (error) {
    if (aborted?.aborted) throw error;
    goneAway();
    throw new ApiError("offline");
  } finally {
    clearTimeout(patience);
  }
  if (!answer.ok) throw await refusal(answer);
  cameBack();
  return answer;
}

/** @param {Response} answer @returns {Promise<ApiError>} */
async function refusal(answer) {
  const { status } = answer;
  const retry_after_s = Number(answer.headers.get("Retry-After")) || undefined;
  try {
    const { code, message, details } = (await answer.json()).error;
    cameBack();
    return new ApiError(code, message, { status, details, retry_after_s });
  } catch {
    if (!AWAY.includes(status)) return new ApiError("unexpected", undefined, { status, retry_after_s });
    goneAway();
    return new ApiError("offline", undefined, { status, retry_after_s });
  }
}

function cameBack() {
  clearTimeout(timer);
  tries = 0;
  unreachable.value = null;
}

function goneAway() {
  if (unreachable.value !== null && unreachable.value > Date.now()) return;
  const wait_ms = 1_000 * (TRY_AGAIN_S[Math.min(tries, TRY_AGAIN_S.length - 1)] ?? 30);
  tries += 1;
  unreachable.value = Date.now() + wait_ms;
  clearTimeout(timer);
  timer = window.setTimeout(look, wait_ms);
}

/** Asks whether the service is there again. */
export function look() {
  unreachable.value = 0;
  send("GET", "/healthz", { within_ms: READ_MS }).catch(() => {});
}

addEventListener("online", () => unreachable.value !== null && look());
