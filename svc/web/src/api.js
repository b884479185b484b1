/** Calls of /v1, by their names in the reference, with the session's token. */

import { ApiError, send } from "./http.js";
import { freshToken, signedInAgain } from "./session.js";

export { ApiError };

/**
 * @typedef {import("./wire").Calls} Calls
 * @typedef {keyof Calls} CallName as `PATCH /v1/sites/{site_id}`
 * @typedef {{key?: string, signal?: AbortSignal}} Sending `key`: of a write, the same for the same request
 */

/**
 * What a call takes: its path's parts, what stands behind the `?`, its body.
 * @template {CallName} N
 * @typedef {Calls[N]["params"] & (Calls[N]["body"] extends undefined ? {} : {body: Calls[N]["body"]})} Taken
 */

/**
 * @template {CallName} N
 * @typedef {Calls[N]["answer"]} Answer
 */

/** @returns {string} an Idempotency-Key; `crypto.randomUUID` is not there without TLS */
export function newKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * @param {string} template as `/v1/sites/{site_id}/report`
 * @param {Record<string, unknown>} params parts of the path, and what stands behind the `?`; an empty one is left out
 * @returns {string} the path with them
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
 * A request with the session's token, which is renewed where its time is over. When the whole session's is, a write
 * waits until the user has signed in again, and then goes on: nothing that was typed is lost.
 * @param {string} method
 * @param {string} path
 * @param {import("./http.js").Sending & {key?: string | undefined}} [sending]
 * @returns {Promise<Response>}
 * @throws {ApiError} `unauthorized`: nobody is signed in
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
 * @param {N} name as `PATCH /v1/sites/{site_id}`
 * @param {Taken<N> & Sending} taken
 * @returns {Promise<Answer<N>>} the answer's JSON
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
