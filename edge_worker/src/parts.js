/**
 * Parts: a row a minute (and a slot) of events in the order in which they were written. Before they are folded the
 * database sorts them by target into pages: a fold writes two rows a target, however few its events, so all of a target
 * are folded together; and a page is what a cron run can fold in its CPU time, whatever visitors have sent.
 */

import { addLines, daysOf, emptySums, readBody } from "./fold.js";
import { FLUSH_NAME_CHARS, SLOTS } from "./gather.js";
import { MINUTE_MS } from "./time.js";

/** A page: about 2 ms of CPU in a new isolate … */
export const PAGE_CHARS = 64_000;
/** … and what of it a run folds at the most: targets and days, and the size of what is stored of them already. */
const PAGE_DAYS = 60;
const PAGE_STORED_CHARS = 60_000;

/** So much is sorted at once, about 18,000 events: 0.1 s in the database, and 5 rows read an event. */
const SORT_CHARS = 2_000_000;

/** A part takes events during its minute; this much later its writes are done. */
export const SETTLED_MS = MINUTE_MS;

/** @param {number} at epoch ms @returns {number} the least id of a part of this minute or later */
export const partBound = (at) => Math.floor(at / MINUTE_MS) * SLOTS;

/** @param {number} id of a part @returns {number} epoch ms at which its minute begins */
export const minuteOf = (id) => Math.floor(id / SLOTS) * MINUTE_MS;

/**
 * @typedef {object} Waiting what is not sorted yet
 * @property {number} first id of the first part, or more than any id
 * @property {number | null} settled id of the last part that can be sorted now
 * @property {number | null} ofHours the same, of the hours that can be closed
 * @property {number} chars size of all parts that are settled
 * @property {number} writes of today that these parts hold
 */

/**
 * @param {D1Database} db @param {number} now
 * @param {number} today the least id of a part of this UTC day
 * @param {number} open the least id of a part of the hours that cannot be closed yet
 * @returns {D1PreparedStatement} one row, for `readWaiting`
 */
export function waitingStatement(db, now, today, open) {
  return db
    .prepare(
      "select min(id) as first, max(id) filter (where id < ?1) as settled, max(id) filter (where id < ?2) as hours, " +
        "coalesce(sum(length(body)) filter (where id < ?1), 0) as chars, " +
        "coalesce(sum(length(f)) filter (where id >= ?3), 0) as f from part",
    )
    .bind(partBound(now - SETTLED_MS), open, today);
}

/** @param {unknown} row @returns {Waiting} */
export function readWaiting(row) {
  const found = /** @type {Record<"first" | "settled" | "hours", number | null> & {chars: number, f: number}} */ (row);
  const { first, settled, hours, chars, f } = found;
  return { first: first ?? Number.MAX_SAFE_INTEGER, settled, ofHours: hours, chars, writes: f / FLUSH_NAME_CHARS };
}

/**
 * @typedef {object} Taken the first parts, as many as are sorted at once
 * @property {number} last id of the last of them
 * @property {number} rows
 * @property {number} chars
 * @property {number} names characters of their writes' names
 * @property {number} writes of today
 * @property {string} drops lines
 * @property {number} next id of the first part after them, or more than any id
 */

/**
 * @param {D1Database} db @param {number} until id of a part: those up to it can be sorted
 * @param {number} today the least id of a part of this UTC day
 * @returns {Promise<Taken>}
 */
export async function readTaken(db, until, today) {
  const row = await db
    .prepare(
      "with p as (select id, f, x, length(body) as chars, sum(length(body)) over (order by id) as upto from part " +
        "where id <= ?1), taken as (select * from p where upto <= ?3 or upto = chars) " +
        "select max(id) as last, count(*) as rows, sum(chars) as chars, sum(length(f)) as names, " +
        "group_concat(x, '') as drops, coalesce(sum(length(f)) filter (where id >= ?2), 0) as today, " +
        "(select min(id) from part where id > (select max(id) from taken)) as next from taken",
    )
    .bind(until, today, SORT_CHARS)
    .first();
  const found = /** @type {Omit<Taken, "writes" | "next"> & {today: number, next: number | null}} */ (row);
  return { ...found, writes: found.today / FLUSH_NAME_CHARS, next: found.next ?? Number.MAX_SAFE_INTEGER };
}

const LINES = "'[' || replace(substr(body, 1, length(body) - 1), char(10), ',') || ']'";
const NEXT_PAGE = "(select coalesce(max(id), 0) + 1 from sorted)";

// A target's lines stay in the order in which they came: the first keys of a day have a place in its breakdowns.
const SORT =
  `insert into sorted(id, body) select ${NEXT_PAGE} + page, group_concat(line, char(10)) || char(10) from (` +
  `select line, sum(length(line) + 1) over (order by t, id, i) / ${PAGE_CHARS} as page from (` +
  "select e.value as line, case when e.type = 'array' then e.value ->> 0 end as t, part.id as id, e.key as i " +
  `from part, json_each(${LINES}) e where part.id <= ?1 and json_valid(${LINES}))) group by page`;

// Only a body that something else has written to: what is whole in it counts all the same.
const KEEP_BROKEN =
  `insert into sorted(id, body) select ${NEXT_PAGE} + row_number() over (order by id), body from part ` +
  `where id <= ?1 and not json_valid(${LINES})`;

/**
 * @param {D1Database} db @param {number} last
 * @returns {D1PreparedStatement[]} that put the lines of the parts up to `last` into pages, by target
 */
export function sortStatements(db, last) {
  return [SORT, KEEP_BROKEN, "delete from part where id <= ?1"].map((sql) => db.prepare(sql).bind(last));
}

/**
 * @typedef {object} Page
 * @property {number} id
 * @property {number} pages how many there are, with this one
 * @property {number} end characters of it that are added up in `sums`
 * @property {boolean} whole these are all
 * @property {import("./fold.js").Sums} sums
 * @property {Map<string, string>} stored day rows as stored, by target and day
 */

/**
 * Reads the first page and adds up as much of it as a run can fold.
 * @param {D1Database} db @param {number} closedDay @returns {Promise<Page | null>} null: there is none
 */
export async function readPage(db, closedDay) {
  const row = await db
    .prepare("select id, body, (select count(*) from sorted) as pages from sorted order by id limit 1")
    .first();
  if (row === null) return null;
  const { id, body, pages } = /** @type {{id: number, body: string, pages: number}} */ (row);
  const lines = readBody(body);
  const days = daysOf(lines, closedDay, PAGE_DAYS);
  const { stored, fit } = await storedDays(db, days.keys);
  const folded = lines.slice(0, fit < days.keys.length ? days.firsts[fit] : days.end);
  const sums = emptySums();
  addLines(sums, folded, closedDay);
  const end = endOfLine(body, folded.length);
  return { id, pages, end, whole: end === body.length, sums, stored };
}

/**
 * @param {D1Database} db @param {Page} page
 * @returns {D1PreparedStatement} that takes what is folded off the page
 */
export function takeOff(db, { id, end, whole }) {
  if (whole) return db.prepare("delete from sorted where id = ?").bind(id);
  return db.prepare("update sorted set body = substr(body, ?) where id = ?").bind(end + 1, id);
}

/**
 * The rows of these days, as many of the first as a run can work on, but one at the least.
 * @param {D1Database} db @param {[string, number][]} keys target and epoch day
 * @returns {Promise<{stored: Map<string, string>, fit: number}>} fit: how many of the keys are dealt with
 */
async function storedDays(db, keys) {
  const answer = await db
    .prepare(
      "select t, d, j from (select e.key as i, e.value ->> 0 as t, e.value ->> 1 as d, day.j as j, " +
        "sum(length(day.j)) over (order by e.key) as chars from json_each(?1) e " +
        "left join day on day.t = e.value ->> 0 and day.d = e.value ->> 1) " +
        "where i = 0 or chars is null or chars <= ?2",
    )
    .bind(JSON.stringify(keys), PAGE_STORED_CHARS)
    .all();
  const rows = /** @type {{t: string, d: number, j: string | null}[]} */ (answer.results);
  /** @type {Map<string, string>} */
  const stored = new Map();
  for (const { t, d, j } of rows) if (j !== null) stored.set(`${t} ${d}`, j);
  return { stored, fit: rows.length };
}

/** @param {string} body @param {number} n @returns {number} the characters of its first n lines */
function endOfLine(body, n) {
  let end = 0;
  for (let i = 0; i < n && end < body.length; i += 1) {
    const mark = body.indexOf("\n", end);
    end = mark < 0 ? body.length : mark + 1;
  }
  return end;
}
