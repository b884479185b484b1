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

/** A list of hashes that would grow past this is made distinct … */
const LIST_CHARS = 1_500_000;
/** … and takes no more past this (170,000 visitors an hour), so that it stays under the platform's 2 MB for a value. */
const MOST_LIST_CHARS = 1_900_000;

// Lists are put together as text: looking into them would read a row for each hash, at every page of an hour. So a
// visitor may be named more than once; whoever counts visitors counts distinct ones.
const HOURS =
  "insert into hr(t, d, h, v, b, u) select value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, " +
  "value -> '$[5]' from json_each(?) where true " +
  "on conflict(t, d, h) do update set v = v + excluded.v, b = b + excluded.b, u = case " +
  "when excluded.u = '[]' then hr.u when hr.u = '[]' then excluded.u " +
  `when length(hr.u) + length(excluded.u) < ${LIST_CHARS} ` +
  "then substr(hr.u, 1, length(hr.u) - 1) || ',' || substr(excluded.u, 2) " +
  `else (select case when length(list) < ${MOST_LIST_CHARS} then list else hr.u end from ` +
  "(select json_group_array(value) as list from " +
  "(select value from json_each(hr.u) union select value from json_each(excluded.u)))) end";

const DAYS =
  "insert into day(t, d, j) select value ->> 0, value ->> 1, value -> '$[2]' " +
  "from json_each(?) where true on conflict(t, d) do update set j = excluded.j";

/**
 * @param {D1Database} db
 * @param {Iterable<import("./fold.js").HourSum>} sums
 */
export function hourStatements(db, sums) {
  const items = [...sums].map(({ t, d, h, v, b, u }) => JSON.stringify([t, d, h, v, b, [...u]]));
  return pagesOf(items).map((page) => db.prepare(HOURS).bind(page));
}

/**
 * A day's visitors are counted from its hours' lists when it is closed.
 * @param {D1Database} db
 * @param {Iterable<{t: string, d: number, totals: import("./fold.js").DayTotals}>} days
 */
export function dayStatements(db, days) {
  const items = [...days].map(({ t, d, totals }) => JSON.stringify([t, d, totals]));
  return pagesOf(items).map((page) => db.prepare(DAYS).bind(page));
}
