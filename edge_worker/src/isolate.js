/** State that an isolate (a running instance of the Worker) keeps between requests. */

/**
 * Marks state that all requests of an isolate share. It may contain only data and functions, because a promise, stream,
 * request or response belongs to the request that created it. When that request has ended, another request that awaits
 * the object fails (Cloudflare docs: Workers, errors, "Cannot perform I/O on behalf of a different request"). The type
 * check rejects state that contains such objects.
 * @template {object} T
 * @param {T & Data<T>} state
 * @returns {T}
 */
export const keep = (state) => state;
