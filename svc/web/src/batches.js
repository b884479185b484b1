/** Splits requests that name more links than one request may name. */

/** The maximum number of ids in a request. */
export const MOST_IDS = 1000;

/**
 * Prepare requests for these links, in parts of at most `MOST_IDS` ids. After an error, the next call continues with
 * the part that failed.
 * @template R
 * @param {readonly string[]} ids
 * @returns {(send: (ids: string[], part: number) => Promise<R[]>) => Promise<R[]>} a function that sends the remaining
 *   parts one after the other, and returns the results of all parts
 */
export function inBatches(ids) {
  /** @type {R[]} */
  const results = [];
  let sent = 0;
  return async (send) => {
    while (sent < ids.length) {
      const part = ids.slice(sent, sent + MOST_IDS);
      results.push(...(await send(part, sent / MOST_IDS)));
      sent += part.length;
    }
    return results;
  };
}
