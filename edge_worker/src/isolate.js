/** What an isolate keeps between its requests. */

/**
 * Marks a state that all requests of an isolate share. It holds data and functions only: a promise, stream, request or
 * answer belongs to the request that made it, and awaiting it in another one fails when the first has ended (platform
 * docs: Workers, errors, "Cannot perform I/O on behalf of a different request"). The type check refuses such a state.
 * @template {object} T
 * @param {T & Data<T>} state
 * @returns {T}
 */
export const keep = (state) => state;
