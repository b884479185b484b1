/**
 * The days that the table `day` keeps: the account's setting, a row of `config` that the service writes, and the rows
 * that the closing of a day deletes.
 */

/** Report periods end 30 days back; a few more for the service's clock. */
const MOST_DAYS = 35;
const FEWEST_DAYS = 14;

/**
 * Deleted rows count as rows written, of which an account has 100,000 a day (platform docs: D1 pricing, free plan). So
 * a closing deletes at most the day that has to go and one more, whatever the setting was before.
 */
const DAYS_AT_ONCE = 2;

// The key begins with the target: this reads the whole table, once a day. Somebody else may have written half days.
const OLDEST =
  "select cast(day as integer) as day, count(*) as n from day where day < ?1 group by 1 order by 1 " +
  `limit ${DAYS_AT_ONCE}`;

/**
 * @typedef {object} Expired the oldest days, which are deleted now
 * @property {number} keptFrom epoch day: the first day that is not deleted
 * @property {number} rows to be deleted
 */

/** @param {unknown} body of the row of `config` @returns {number} days to keep */
export function daysKept(body) {
  if (typeof body !== "string") return MOST_DAYS;
  try {
    const days = /** @type {unknown} */ (JSON.parse(body)?.days);
    // What somebody else wrote there deletes nothing early.
    if (!Number.isSafeInteger(days)) return MOST_DAYS;
    return Math.min(MOST_DAYS, Math.max(FEWEST_DAYS, Number(days)));
  } catch {
    return MOST_DAYS;
  }
}

/**
 * @param {D1Database} db @param {number} day epoch day that is closed
 * @returns {[D1PreparedStatement, D1PreparedStatement]} for `readExpired`
 */
export const expiredStatements = (db, day) => [
  db.prepare("select body from config where key = 'days_kept'"),
  db.prepare(OLDEST).bind(day - FEWEST_DAYS),
];

/**
 * @param {D1Result | undefined} setting @param {D1Result | undefined} oldest what `expiredStatements` found
 * @param {number} day epoch day that is closed
 * @param {number} keptFrom the first day that has not been deleted until now
 * @returns {Expired}
 */
export function readExpired(setting, oldest, day, keptFrom) {
  const [row] = /** @type {{body: unknown}[]} */ (setting?.results ?? []);
  const firstKept = day - daysKept(row?.body);
  const days = /** @type {{day: number, n: number}[]} */ (oldest?.results ?? []).filter((one) => one.day < firstKept);
  return {
    // A setting that was raised brings back nothing.
    keptFrom: Math.max(keptFrom, ...days.map((one) => one.day + 1)),
    rows: days.reduce((sum, { n }) => sum + n, 0),
  };
}

/** @param {D1Database} db @param {Expired} expired @returns {D1PreparedStatement[]} none or one */
export const deleteExpired = (db, { keptFrom, rows }) =>
  rows === 0 ? [] : [db.prepare("delete from day where day < ?").bind(keptFrom)];
