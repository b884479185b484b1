/** State that an isolate keeps between requests. */

/**
 * Marks state that all requests of an isolate share. It may contain only data and functions. A promise, stream, request
 * or response belongs to the request that created it. Another request that awaits it fails once the first request has
 * ended (Cloudflare docs: Workers, errors, "Cannot perform I/O on behalf of a different request"). The type check
 * rejects state that contains any of these.
 * @template {object} T
 * @param {T & Data<T>} state
 * @returns {T}
 */
export const keep = (state) => state;
