/**
 * The write budget. Its level (0 to 3) depends on how much of the account's daily limit on written rows is used up. At
 * level 1, no hourly totals are written. At level 2, event detail is also omitted. The higher the level, the less often
 * an isolate writes. Daily totals are always written.
 */

/** Rows that an account can write per day (Cloudflare docs: D1 pricing, free plan; enforced since 2026-09-01). */
export const ROWS_PER_DAY = 100_000;

/** Shares of the daily rows at which levels 1, 2 and 3 begin. */
const SHARES = [0.6, 0.8, 0.9];

/** Above this share of the daily rows, months wait for the next day. Hourly points cannot wait, but months can. */
const MONTHS_SHARE = 0.5;

/**
 * The buffering window of an isolate at each level. waitUntil ends 30 s after the response (Cloudflare docs). The
 * write, and possibly a wait for the previous write, must end within these 30 s.
 */
const WINDOWS_MS = [1_500, 5_000, 12_000, 20_000];

/** @param {number} rows rows written today @returns {number} level 0 to 3 */
export function levelOf(rows) {
  return SHARES.filter((share) => rows >= share * ROWS_PER_DAY).length;
}

/** @param {number} rows rows written today @returns {boolean} true if a step of a month may be written */
export const mayAddMonths = (rows) => rows < MONTHS_SHARE * ROWS_PER_DAY;

/** @param {number} level @returns {number} ms to buffer events before a write */
export const windowMs = (level) => WINDOWS_MS[Math.min(level, WINDOWS_MS.length - 1)] ?? 0;

/** @param {number} level @returns {boolean} true if hours are folded and closed one by one */
export const keepsHours = (level) => level < 1;

/** @param {number} level @returns {boolean} true if events carry their detail (page, source, country …) */
export const keepsDetail = (level) => level < 2;
