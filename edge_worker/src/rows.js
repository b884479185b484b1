/**
 * Statements that change folded data, which are the totals of days and hours. A query can have only 100 parameters
 * (Cloudflare docs), so rows are sent as JSON.
 */

/** Maximum size of a parameter, below Cloudflare's limit of 2 MB per value. */
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

/** When a list reaches this size, duplicate hashes are removed from it. */
const LIST_CHARS = 1_500_000;
/**
 * Maximum size of a list (170,000 visitors per hour), below Cloudflare's limit of 2 MB per value. Visitors that would
 * make the list reach this size are not added.
 */
const MAX_LIST_CHARS = 1_900_000;

// Lists are concatenated as text, because parsing them for every page of events would read one row per hash. A list can
// therefore contain a visitor more than once, so visitors must be counted with `distinct`.
const HOURS =
  "insert into hour(target, day, hour, views, bots, visitors) select value ->> 0, value ->> 1, value ->> 2, " +
  "value ->> 3, value ->> 4, value -> '$[5]' from json_each(?) where true " +
  "on conflict(target, day, hour) do update set views = views + excluded.views, bots = bots + excluded.bots, " +
  "visitors = case when excluded.visitors = '[]' then hour.visitors when hour.visitors = '[]' then excluded.visitors " +
  `when length(hour.visitors) + length(excluded.visitors) < ${LIST_CHARS} ` +
  "then substr(hour.visitors, 1, length(hour.visitors) - 1) || ',' || substr(excluded.visitors, 2) " +
  `else (select case when length(list) < ${MAX_LIST_CHARS} then list else hour.visitors end from ` +
  "(select json_group_array(distinct hash.value) as list from " +
  // Do not use `union`, because the firewall of Cloudflare's API takes it for an attack and rejects the upload.
  "json_each(json_array(json(hour.visitors), json(excluded.visitors))) lists, json_each(lists.value) hash)) end";

const DAYS =
  "insert into day(target, day, totals) select value ->> 0, value ->> 1, value -> '$[2]' " +
  "from json_each(?) where true on conflict(target, day) do update set totals = excluded.totals";

/**
 * @param {D1Database} db
 * @param {Iterable<import("./fold.js").HourSum>} sums
 */
export function hourStatements(db, sums) {
  const items = [...sums].map(({ target, day, hour, views, bots, visitors }) =>
    JSON.stringify([target, day, hour, views, bots, [...visitors]]),
  );
  return pagesOf(items).map((page) => db.prepare(HOURS).bind(page));
}

/**
 * Upserts day totals. When a day is closed, its visitors are counted from the lists of its hours.
 * @param {D1Database} db
 * @param {Iterable<{target: string, day: number, totals: import("./fold.js").DayTotals}>} days
 */
export function dayStatements(db, days) {
  const items = [...days].map(({ target, day, totals }) => JSON.stringify([target, day, totals]));
  return pagesOf(items).map((page) => db.prepare(DAYS).bind(page));
}

const CLOSED_HOURS = "from hour where day <= ?1 order by target, day, hour limit ?2";

/**
 * @param {D1Database} db @param {number} closedDay @param {number} most
 * @returns {Promise<number>} number of rows that `deleteClosedHours` deletes
 */
export async function readClosedHours(db, closedDay, most) {
  const n = await db.prepare(`select count(*) as n from (select 1 ${CLOSED_HOURS})`).bind(closedDay, most).first("n");
  return Number(n);
}

/** @param {D1Database} db @param {number} closedDay @param {number} most maximum number of rows */
export const deleteClosedHours = (db, closedDay, most) =>
  db
    .prepare(`delete from hour where (target, day, hour) in (select target, day, hour ${CLOSED_HOURS})`)
    .bind(closedDay, most);
