/**
 * Retention of the tables `day` and `month`: the rows to delete when a day is closed. A day is deleted when it is older
 * than the account's setting and its month has been added up.
 */

import { addedUntil, withoutDays, withoutMonths } from "./months.js";
import { MAX_DAYS, MIN_DAYS } from "./settings.js";
import { monthOf } from "./time.js";

/**
 * A day that is this much older than MAX_DAYS is deleted even if its month has not been added up. Otherwise, the
 * database could grow without limit if the write budget is used up every day.
 */
const MAX_WAIT_DAYS = 31;

/**
 * A database is nearly full if its size in bytes is within one of these ranges. The limit is 500 MB on the free plan
 * and 10 GB on a paid plan (Cloudflare docs: D1 limits). Users of the free plan have reported databases of 513 MB.
 */
const NEARLY_FULL = [
  [490e6, 530e6],
  [9.8e9, Infinity],
];

/**
 * Maximum number of days whose rows are deleted when a day is closed. Deleted rows count as written rows. An account
 * can write 100,000 rows per day (Cloudflare docs: D1 pricing, free plan). If the account lowers its setting and more
 * days expire, their rows are deleted when the next days are closed.
 */
const DAYS_AT_ONCE = 2;

// This query reads the whole table, because the key begins with the target, but it runs only once a day. The cast
// removes fractions, which another program may have written.
const OLDEST =
  "select cast(day as integer) as day, count(*) as n from day where day < ?1 group by 1 order by 1 " +
  `limit ${DAYS_AT_ONCE}`;

/**
 * @typedef {object} Expired the oldest days, which are deleted now, and the months, which are deleted in steps
 * @property {number} keptFrom epoch day: the first day that is not deleted
 * @property {number} rows number of rows to delete
 * @property {import("./months.js").MonthState} months the next state
 */

/** @param {number} size of the database in bytes @returns {boolean} true if days must not wait for their month */
export const isNearlyFull = (size) => NEARLY_FULL.some(([from = 0, to = 0]) => size >= from && size <= to);

/** @param {D1Database} db @param {number} day epoch day that is closed */
export const oldestStatement = (db, day) => db.prepare(OLDEST).bind(day - MIN_DAYS);

/**
 * @param {import("./settings.js").Settings} kept
 * @param {D1Result | undefined} oldest result of `oldestStatement`
 * @param {number} day epoch day that is closed
 * @param {{kept_from: number, months: import("./months.js").MonthState}} state kept_from: the first day that has not
 *   been deleted yet
 * @param {boolean} full true if the database is nearly full, so that days do not wait for their month
 * @returns {Expired}
 */
export function readExpired(kept, oldest, day, { kept_from, months }, full) {
  const firstKept = day - kept.days;
  const firstWaiting = full ? firstKept : Math.max(addedUntil(months), day - MAX_DAYS - MAX_WAIT_DAYS);
  const end = Math.min(firstKept, firstWaiting);
  const days = /** @type {{day: number, n: number}[]} */ (oldest?.results ?? []).filter((one) => one.day < end);
  // This number never decreases, because a longer retention does not restore deleted days.
  const keptFrom = Math.max(kept_from, ...days.map((one) => one.day + 1));
  const added = keptFrom > kept_from ? withoutDays(months, keptFrom) : months;
  return {
    keptFrom,
    rows: days.reduce((sum, { n }) => sum + n, 0),
    months: withoutMonths(added, monthOf(day + 1) - kept.months),
  };
}

/** @param {D1Database} db @param {Expired} expired @returns {D1PreparedStatement[]} at most two statements */
export function deleteExpired(db, { keptFrom, rows, months }) {
  if (rows === 0) return [];
  const statements = [db.prepare("delete from day where day < ?").bind(keptFrom)];
  if (months.day !== 0) return statements;
  // Delete the row of this target, because the target's remaining days will be added again.
  const { month, target } = months;
  return [...statements, db.prepare("delete from month where month = ? and target = ?").bind(month, target)];
}
