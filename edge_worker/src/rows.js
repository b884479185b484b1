/** Statements that change folded data, each for many rows in one JSON parameter (platform docs: 100 parameters a query). */

/** A parameter stays below the platform's 2 MB for a value. */
const PARAMETER_CHARS = 500_000;

/**
 * @param {string[]} items JSON texts
 * @returns {string[]} JSON arrays of bounded length
 */
export function pagesOf(items) {
  /** @type {string[][]} */
  const pages = [];
  let chars = PARAMETER_CHARS;
  for (const item of items) {
    if (chars + item.length > PARAMETER_CHARS) {
      pages.push([]);
      chars = 0;
    }
    /** @type {string[]} */ (pages.at(-1)).push(item);
    chars += item.length;
  }
  return pages.map((page) => `[${page.join(",")}]`);
}

// The lists of hashes are united in the database: a large one would cost more CPU here than a cron run has.
const HOURS =
  "insert into hr(t, d, h, v, b, n, u) select value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, " +
  "json_array_length(value, '$[5]'), value -> '$[5]' from json_each(?) where true " +
  "on conflict(t, d, h) do update set v = v + excluded.v, b = b + excluded.b, (n, u) = " +
  "(select count(*), json_group_array(value) from " +
  "(select value from json_each(hr.u) union select value from json_each(excluded.u)))";

const DAYS =
  "insert into day(t, d, j) select value ->> 0, value ->> 1, json_set(value -> '$[2]', '$.u', " +
  "(select count(distinct l.value) from hr, json_each(hr.u) l where hr.t = e.value ->> 0 and hr.d = e.value ->> 1)) " +
  "from json_each(?) e where true on conflict(t, d) do update set j = excluded.j";

/**
 * @param {D1Database} db
 * @param {Iterable<import("./fold.js").HourSum>} sums
 */
export function hourStatements(db, sums) {
  const items = [...sums].map(({ t, d, h, v, b, u }) => JSON.stringify([t, d, h, v, b, [...u]]));
  return pagesOf(items).map((page) => db.prepare(HOURS).bind(page));
}

/**
 * After the hours' statements, in the same batch: a day's visitors are counted from its hours' lists.
 * @param {D1Database} db
 * @param {Iterable<{t: string, d: number, totals: import("./fold.js").DayTotals}>} days
 */
export function dayStatements(db, days) {
  const items = [...days].map(({ t, d, totals }) => JSON.stringify([t, d, totals]));
  return pagesOf(items).map((page) => db.prepare(DAYS).bind(page));
}
