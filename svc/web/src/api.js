/** Typed calls to the endpoints below /v1 and /auth, with the session's access token. */

import { ApiError, send } from "./http.js";
import { freshToken, signedInAgain } from "./session.js";

export { ApiError };

/**
 * @typedef {import("./wire").Calls} Calls
 * @typedef {keyof Calls} CallName such as `PATCH /v1/sites/{site_id}`
 * @typedef {{key?: string, signal?: AbortSignal}} Sending `key`: the Idempotency-Key of a write
 */

/**
 * The input of a call: path parameters, query parameters and the body.
 * @template {CallName} N
 * @typedef {Calls[N]["params"] & (Calls[N]["body"] extends undefined ? {} : {body: Calls[N]["body"]})} Input
 */

/**
 * @template {CallName} N
 * @typedef {Calls[N]["response"]} ResponseOf
 */

/** @returns {string} a new Idempotency-Key, made without `crypto.randomUUID`, which is unavailable without TLS */
export function newKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Fill in the path parameters of a template, and append the other parameters as a query.
 * @param {string} template such as `/v1/sites/{site_id}/report`
 * @param {Record<string, unknown>} params empty query parameters are omitted
 * @returns {string}
 */
export function fill(template, params) {
  const search = new URLSearchParams();
  const left = new Map(Object.entries(params));
  const path = template.replace(/\{(\w+)\}/g, (_, name) => {
    const value = left.get(name);
    left.delete(name);
    return encodeURIComponent(String(value));
  });
  for (const [name, value] of left) {
    if (value !== undefined && value !== null && value !== "") search.set(name, String(value));
  }
  return search.size ? `${path}?${search}` : path;
}

/**
 * Send a request with the session's access token, which is refreshed if it has expired. If the session itself has
 * expired, a write waits until the user has signed in again, so that the user's input is not lost.
 * @param {string} method
 * @param {string} path
 * @param {import("./http.js").Sending & {key?: string | undefined}} [sending]
 * @returns {Promise<Response>}
 * @throws {ApiError} `unauthorized`: no user is signed in
 */
export async function ask(method, path, { key, ...sending } = {}) {
  const write = method !== "GET";
  /** @type {Record<string, string>} */
  const headers = { ...sending.headers, ...(write ? { "Idempotency-Key": key ?? newKey() } : {}) };
  for (let stale = ""; ;) {
    const token = await freshToken(stale);
    if (token === "") {
      if (write && (await signedInAgain())) continue;
      throw new ApiError("unauthorized", undefined, { status: 401 });
    }
    try {
      return await send(method, path, { ...sending, headers: { ...headers, Authorization: `Bearer ${token}` } });
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 401 || stale !== "") throw error;
      stale = token;
    }
  }
}

/**
 * @template {CallName} N
 * @param {N} name such as `PATCH /v1/sites/{site_id}`
 * @param {Input<N> & Sending} taken
 * @returns {Promise<ResponseOf<N>>} the parsed JSON of the response
 * @throws {ApiError}
 */
export async function call(name, taken) {
  const [method = "GET", template = ""] = name.split(" ");
  const { key, signal, body, ...params } = /** @type {Sending & Record<string, unknown>} */ (taken);
  if (template.startsWith("/auth/")) {
    return (await send(method, template, { body, signal, credentials: "same-origin" })).json();
  }
  return (await ask(method, fill(template, params), { body, key, signal })).json();
}
