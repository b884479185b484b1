/**
 * The write budget: the number of database rows that the account may write per day. The level (0 to 3) depends on how
 * many rows have been written today. From level 1 on, the hours of today are refused: their events are not added to any
 * totals until the day has ended, and no hourly totals are sent. From level 2 on, the details of events are also
 * omitted, and the work for ended days waits until the next day. The higher the level, the less often isolates (running
 * instances of the Worker) write. All events are counted in the daily totals, even if these are sent a day late.
 */

/** Rows that an account can write per day (Cloudflare docs: D1 pricing, free plan; enforced since 2026-09-01). */
const FREE_ROWS_PER_DAY = 100_000;

/**
 * Paid plans have no daily limit. They include 50 million written rows per month, and Cloudflare bills further rows
 * (Cloudflare docs: D1 pricing). In a month of 31 days, this number uses 93% of the included rows.
 */
const PAID_ROWS_PER_DAY = 1_500_000;

/** Levels 1, 2 and 3 begin at these shares of the rows per day. */
const SHARES = [0.6, 0.8, 0.9];

/**
 * Above this share of the rows per day, the sums of months are written on a later day. The remaining rows are for
 * hourly totals, which cannot wait.
 */
const MONTHS_SHARE = 0.5;

/**
 * How long an isolate buffers events at each level. The write then waits for the previous write, and must end within
 * 30 s after the response, because Cloudflare cancels waitUntil work after this time (Cloudflare docs).
 */
const WINDOWS_MS = [1_500, 5_000, 12_000, 20_000];

/**
 * @typedef {import("./settings.js").Settings} Settings
 * @param {Settings} settings @returns {number} the rows that the Worker may write per day
 */
const rowsPerDay = ({ paid }) => (paid ? PAID_ROWS_PER_DAY : FREE_ROWS_PER_DAY);

/** @param {number} rows rows written today @param {Settings} settings @returns {number} level 0 to 3 */
export function levelOf(rows, settings) {
  return SHARES.filter((share) => rows >= share * rowsPerDay(settings)).length;
}

/**
 * @param {number} rows rows written today @param {Settings} settings
 * @returns {boolean} true if a step of a month may be written
 */
export const mayAddMonths = (rows, settings) => rows < MONTHS_SHARE * rowsPerDay(settings);

/**
 * The work for ended days (folding their last events, closing them, and deleting old rows) stops at level 2, and then
 * continues on a later day. The remaining rows are for the events of the current day.
 */
const ENDED_DAYS_LEVEL = 2;

/** @param {number} level @returns {boolean} true if ended days may be folded and closed */
export const mayEndDays = (level) => level < ENDED_DAYS_LEVEL;

/** @param {Settings} settings @returns {number} rows written per day at which the work for ended days stops */
export const rowsForEndedDays = (settings) => Math.floor((SHARES[ENDED_DAYS_LEVEL - 1] ?? 0) * rowsPerDay(settings));

/** @param {number} level @returns {number} ms to buffer events before a write */
export const windowMs = (level) => WINDOWS_MS[Math.min(level, WINDOWS_MS.length - 1)] ?? 0;

/** @param {number} level @returns {boolean} true if hourly totals are written and sent */
export const keepsHours = (level) => level < 1;

/** @param {number} level @returns {boolean} true if events contain their details (page, source, country …) */
export const keepsDetail = (level) => level < 2;
