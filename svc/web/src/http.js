/** Sends HTTP requests to the service, and tracks whether the service is reachable. */

import { signal } from "@preact/signals";

import { textLanguage } from "./settings.js";

/**
 * @typedef {{path: string, code?: string, message: string, limit?: number}} Issue a problem
 *   with one field of a body; path "" is the whole body
 * @typedef {{
 *   body?: unknown,
 *   headers?: Record<string, string>,
 *   credentials?: RequestCredentials,
 *   signal?: AbortSignal | undefined,
 *   within_ms?: number | undefined,
 * }} Sending `within_ms`: the time limit for the start of the response; by default, the browser's own limit
 */

/**
 * Codes of errors with status 502 that the service stores with the Idempotency-Key. A retry would get the same error,
 * so it needs a new key.
 */
const FINAL = ["token_rights_mismatch", "token_check_failed"];

/** An error response from the service, or a failure to reach the service. */
export class ApiError extends Error {
  /**
   * @param {string} code from the service's catalog, `offline` (unreachable) or `unexpected` (not from the service)
   * @param {string} [message] from the service
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

  /** True if the same request may succeed when it is repeated a little later. @returns {boolean} */
  get passes() {
    if (FINAL.includes(this.code)) return false;
    return this.code === "offline" || this.status === 429 || this.status >= 500;
  }
}

/** @param {unknown} thrown @returns {ApiError} */
export const asApiError = (thrown) =>
  thrown instanceof ApiError ? thrown : new ApiError("unexpected", String(thrown));

/** Delays between attempts to reach the service, in seconds. The last delay is repeated. */
const RETRY_DELAYS_S = [2, 5, 10, 20, 30];
// Reads and the session refresh are aborted after this time and retried, because a connection can fail without the
// browser noticing. A refresh that never ends would block all tabs. The service responds to these requests in less than
// this time.
export const READ_MS = 60_000;
// Statuses that a proxy returns if the service behind it is down.
const GATEWAY_STATUSES = [502, 503, 504];

/** Time of the next attempt to reach the service, in ms since 1970; null if the service is responding. */
export const unreachable = signal(/** @type {number | null} */ (null));
let tries = 0;
let timer = 0;

/**
 * @param {string} method
 * @param {string} path
 * @param {Sending} [sending] `body` is sent as JSON
 * @returns {Promise<Response>} a successful response
 * @throws {ApiError}
 */
export async function send(
  method,
  path,
  { body, headers = {}, credentials = "omit", signal: aborted, within_ms } = {},
) {
  const late = new AbortController();
  const timeout = within_ms && setTimeout(() => late.abort(), within_ms);
  /** @type {RequestInit} */
  const init = { method, credentials, cache: "no-store" };
  // The service writes emails in this language if the user's profile has none.
  init.headers = { Accept: "application/json", "Accept-Language": textLanguage(), ...headers };
  init.signal = aborted ? AbortSignal.any([aborted, late.signal]) : late.signal;
  if (method !== "GET") {
    init.headers = { ...init.headers, "Content-Type": "application/json" };
    init.body = JSON.stringify(body ?? {});
  }
  let response;
  try {
    response = await fetch(path, init);
  } catch (error) {
    if (aborted?.aborted) throw error;
    markUnreachable();
    throw new ApiError("offline");
  } finally {
    clearTimeout(timeout);
  }
  if (!response.ok) throw await refusal(response);
  markReachable();
  return response;
}

/** @param {Response} response @returns {Promise<ApiError>} */
async function refusal(response) {
  const { status } = response;
  const retry_after_s = Number(response.headers.get("Retry-After")) || undefined;
  try {
    const { code, message, details } = (await response.json()).error;
    markReachable();
    return new ApiError(code, message, { status, details, retry_after_s });
  } catch {
    if (!GATEWAY_STATUSES.includes(status)) return new ApiError("unexpected", undefined, { status, retry_after_s });
    markUnreachable();
    return new ApiError("offline", undefined, { status, retry_after_s });
  }
}

function markReachable() {
  clearTimeout(timer);
  tries = 0;
  unreachable.value = null;
}

function markUnreachable() {
  if (unreachable.value !== null && unreachable.value > Date.now()) return;
  const wait_ms = 1_000 * (RETRY_DELAYS_S[Math.min(tries, RETRY_DELAYS_S.length - 1)] ?? 30);
  tries += 1;
  unreachable.value = Date.now() + wait_ms;
  clearTimeout(timer);
  timer = window.setTimeout(retryNow, wait_ms);
}

/** Check immediately whether the service is reachable again. */
export function retryNow() {
  unreachable.value = 0;
  send("GET", "/healthz", { within_ms: READ_MS }).catch(() => {});
}

addEventListener("online", () => unreachable.value !== null && retryNow());
