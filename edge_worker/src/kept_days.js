/**
 * Retention of the table `day`: the account's setting, which the service writes to `config`, and the rows to delete
 * when a day is closed.
 */

/**
 * Maximum retention. Reports with breakdowns go back 30 days; the additional days allow for differences between the
 * clocks of the Worker and the service.
 */
const MAX_DAYS = 35;
const MIN_DAYS = 14;

/**
 * Maximum number of days whose rows are deleted when a day is closed. Deleted rows count as written rows, which are
 * limited to 100,000 per day and account (Cloudflare docs: D1 pricing, free plan). If the setting was lowered, the rows
 * of further days are deleted when the next days are closed.
 */
const DAYS_AT_ONCE = 2;

// Because the key begins with the target, this query reads the whole table. It runs once a day. The cast removes
// fractions that another program may have written.
const OLDEST =
  "select cast(day as integer) as day, count(*) as n from day where day < ?1 group by 1 order by 1 " +
  `limit ${DAYS_AT_ONCE}`;

/**
 * @typedef {object} Expired the oldest days, which are deleted now
 * @property {number} keptFrom epoch day: the first day that is not deleted
 * @property {number} rows number of rows to delete
 */

/** @param {unknown} body of the row in `config` @returns {number} number of days to keep */
export function daysKept(body) {
  if (typeof body !== "string") return MAX_DAYS;
  try {
    const days = /** @type {unknown} */ (JSON.parse(body)?.days);
    // An invalid setting must not delete data early.
    if (!Number.isSafeInteger(days)) return MAX_DAYS;
    return Math.min(MAX_DAYS, Math.max(MIN_DAYS, Number(days)));
  } catch {
    return MAX_DAYS;
  }
}

/**
 * @param {D1Database} db @param {number} day epoch day that is closed
 * @returns {[D1PreparedStatement, D1PreparedStatement]} for `readExpired`
 */
export const expiredStatements = (db, day) => [
  db.prepare("select body from config where key = 'days_kept'"),
  db.prepare(OLDEST).bind(day - MIN_DAYS),
];

/**
 * @param {D1Result | undefined} setting @param {D1Result | undefined} oldest results of `expiredStatements`
 * @param {number} day epoch day that is closed
 * @param {number} keptFrom the first day that has not been deleted so far
 * @returns {Expired}
 */
export function readExpired(setting, oldest, day, keptFrom) {
  const [row] = /** @type {{body: unknown}[]} */ (setting?.results ?? []);
  const firstKept = day - daysKept(row?.body);
  const days = /** @type {{day: number, n: number}[]} */ (oldest?.results ?? []).filter((one) => one.day < firstKept);
  return {
    // If the retention period was extended, days that were already deleted stay deleted.
    keptFrom: Math.max(keptFrom, ...days.map((one) => one.day + 1)),
    rows: days.reduce((sum, { n }) => sum + n, 0),
  };
}

/** @param {D1Database} db @param {Expired} expired @returns {D1PreparedStatement[]} at most one statement */
export const deleteExpired = (db, { keptFrom, rows }) =>
  rows === 0 ? [] : [db.prepare("delete from day where day < ?").bind(keptFrom)];
