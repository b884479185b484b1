/** Summarizes the statement of counts for a site or link for one day. Pure functions. */

/**
 * @typedef {import("./wire").DayStatement} DayStatement
 * @typedef {import("./wire").EventCounts} EventCounts
 * @typedef {"agrees" | "open" | "lost" | "differs"} Verdict `open`: the numbers agree, but some events have not reached
 *   the store yet; `lost`: the numbers agree, but the Worker dropped some events
 * @typedef {{arrived: number, counted: number, stored: number, dropped: number, verdict: Verdict}} Summary
 */

/** @param {EventCounts | null} counts @returns {number} all events, including those of bots */
const events = (counts) => (counts ? counts.views + counts.bots : 0);

/** @param {DayStatement} statement @returns {Summary} */
export function summary({ accepted, counted, stored, dropped, agrees }) {
  const arrived = events(accepted);
  const lost = Object.values(dropped ?? {}).reduce((sum, count) => sum + count, 0);
  const inStore = events(stored);
  // The Worker deletes the totals of old days. For such a day, use the accepted events that were not dropped.
  const inWorker = counted ? events(counted) : arrived - lost;
  const pending = inStore + lost < arrived;
  return {
    arrived,
    counted: inWorker,
    stored: inStore,
    dropped: lost,
    verdict: agrees === false ? "differs" : pending ? "open" : lost > 0 ? "lost" : "agrees",
  };
}
