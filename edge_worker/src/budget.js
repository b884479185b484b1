/**
 * The write budget: how much of the account's daily rows is used, and what is given up for it, in this order:
 * 1 hourly points, 2 detail, 3 short buffering. Daily totals are never given up.
 */

/** Rows written a day, for the whole account (platform docs: D1 pricing, free plan; enforced since 2026-09-01). */
export const ROWS_A_DAY = 100_000;

/** From this share of the day's rows on, levels 1, 2, 3 are in force. */
const SHARES = [0.6, 0.8, 0.9];

/**
 * The buffering window of an isolate by level. waitUntil ends 30 s after the answer (platform docs), and after the
 * window comes the write, and perhaps a wait for the one before.
 */
const WINDOWS_MS = [1_500, 5_000, 12_000, 20_000];

/** @param {number} rows rows written today @returns {number} level 0 to 3 */
export function levelOf(rows) {
  return SHARES.filter((share) => rows >= share * ROWS_A_DAY).length;
}

/** @param {number} level @returns {number} ms to buffer events before a write */
export const windowMs = (level) => WINDOWS_MS[Math.min(level, WINDOWS_MS.length - 1)] ?? 0;

/** @param {number} level @returns {boolean} whether hours are folded and closed one by one */
export const keepsHours = (level) => level < 1;

/** @param {number} level @returns {boolean} whether events carry their detail (page, source, country …) */
export const keepsDetail = (level) => level < 2;
