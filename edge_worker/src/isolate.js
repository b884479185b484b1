/** State that an isolate keeps between requests. */

/**
 * Marks state that all requests of an isolate share. It may contain data and functions only. A promise, stream, request
 * or response belongs to the request that created it, and awaiting it in another request fails once the first one has
 * ended (platform docs: Workers, errors, "Cannot perform I/O on behalf of a different request"). The type check rejects
 * such state.
 * @template {object} T
 * @param {T & Data<T>} state
 * @returns {T}
 */
export const keep = (state) => state;
