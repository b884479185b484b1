/**
 * Pages of events. Before events are folded (added to daily and hourly totals), the database sorts them into pages by
 * target, which is a site or link. A fold writes two rows per target, so all events of a target should be folded
 * together. A page is so small that a cron run can fold any page within the CPU time limit.
 */

import { firstIdAt, readLines, writesIn } from "./event_log.js";
import { addLines, dayKey, daysOf, emptySums } from "./fold.js";
import { addTallies } from "./ledger.js";
import { MINUTE_MS } from "./time.js";

/** Size of a page of typical lines. A fold of such a page takes about 2 ms of CPU in a new isolate. */
export const PAGE_CHARS = 64_000;
/**
 * Weight of a line in a page, in characters. Folding a long line takes little more time than folding a typical line,
 * so only a quarter of its additional characters count.
 */
const LINE_WEIGHT = "min(length(line) + 1, length(line) / 4 + 85)";
/** Limits on the work of one run: (target, day) pairs, and characters already stored for all these pairs together. */
const PAGE_DAYS = 60;
const PAGE_STORED_CHARS = 60_000;

/**
 * Maximum number of characters to sort in one run (about 55,000 events). Sorting them takes half a second in the
 * database and reads 5 rows per event. The number is large, because each sort of a day's events adds two written rows
 * per target to the folds.
 */
const SORT_CHARS = 6_000_000;

/** After a row's minute, the row still accepts events for this grace period. */
export const SETTLED_MS = MINUTE_MS;

/**
 * @typedef {object} Waiting the rows of the event log that are not sorted yet
 * @property {number} first id of the first row; without rows, a number larger than any id
 * @property {number | null} settled id of the last row that can be sorted now
 * @property {number | null} ofHours id of the last row that belongs to the hours that can be closed now
 * @property {number} chars total size of the rows that can be sorted now
 * @property {number} writes number of today's writes in these rows
 */

/**
 * @param {D1Database} db @param {number} now
 * @param {number} today the smallest row id of this UTC day
 * @param {number} open the smallest row id of the hours that cannot be closed yet
 * @returns {D1PreparedStatement} a statement that returns one row, for `readWaiting`
 */
export function waitingStatement(db, now, today, open) {
  return db
    .prepare(
      "select min(id) as first, max(id) filter (where id < ?1) as settled, max(id) filter (where id < ?2) as hours, " +
        "coalesce(sum(length(lines)) filter (where id < ?1), 0) as chars, " +
        "coalesce(sum(length(writes)) filter (where id >= ?3), 0) as names from event_log",
    )
    .bind(firstIdAt(now - SETTLED_MS), open, today);
}

/** @param {unknown} row @returns {Waiting} */
export function readWaiting(row) {
  const { first, settled, hours, chars, names } =
    /** @type {Record<"first" | "settled" | "hours", number | null> & {chars: number, names: number}} */ (row);
  return { first: first ?? Number.MAX_SAFE_INTEGER, settled, ofHours: hours, chars, writes: writesIn(names) };
}

/**
 * @typedef {object} Taken the first rows of the event log, as many as one run can sort
 * @property {number} last id of the last of these rows
 * @property {number} rows
 * @property {number} chars
 * @property {number} names total length of the write names
 * @property {number} writes number of today's writes
 * @property {string} drops lines
 * @property {number} next id of the first row after these; without such a row, a number larger than any id
 */

/**
 * @param {D1Database} db @param {number} until id of the last row that can be sorted
 * @param {number} today the smallest row id of this UTC day
 * @returns {Promise<Taken | null>} null without rows, because another run has sorted them
 */
export async function readTaken(db, until, today) {
  const row = await db
    .prepare(
      "with settled as (select id, writes, drops, length(lines) as chars, sum(length(lines)) over (order by id) as upto " +
        "from event_log where id <= ?1), taken as (select * from settled where upto <= ?3 or upto = chars) " +
        "select max(id) as last, count(*) as rows, sum(chars) as chars, sum(length(writes)) as names, " +
        "group_concat(drops, '') as drops, coalesce(sum(length(writes)) filter (where id >= ?2), 0) as today, " +
        "(select min(id) from event_log where id > (select max(id) from taken)) as next from taken",
    )
    .bind(until, today, SORT_CHARS)
    .first();
  const found = /** @type {Omit<Taken, "writes" | "next"> & {today: number, next: number | null}} */ (row);
  if (found.rows === 0) return null;
  return { ...found, writes: writesIn(found.today), next: found.next ?? Number.MAX_SAFE_INTEGER };
}

const ARRAY = "'[' || replace(substr(lines, 1, length(lines) - 1), char(10), ',') || ']'";
const NEXT_PAGE = "(select coalesce(max(id), 0) + 1 from event_page)";

// The lines of a target keep their order. If a breakdown has too many keys, it keeps those that appeared first on the
// day.
const SORT =
  `insert into event_page(id, lines) select ${NEXT_PAGE} + page, group_concat(line, char(10)) || char(10) from (` +
  `select line, sum(${LINE_WEIGHT}) over (order by target, id, i) / ${PAGE_CHARS} as page from (` +
  "select e.value as line, case when e.type = 'array' then e.value ->> 0 end as target, event_log.id as id, " +
  `e.key as i from event_log, json_each(${ARRAY}) e where event_log.id <= ?1 and json_valid(${ARRAY}))) group by page`;

// If another program has changed these rows and made lines invalid, their valid lines still count.
const KEEP_BROKEN =
  `insert into event_page(id, lines) select ${NEXT_PAGE} + row_number() over (order by id), lines from event_log ` +
  `where id <= ?1 and not json_valid(${ARRAY})`;

/**
 * @param {D1Database} db @param {number} last
 * @returns {D1PreparedStatement[]} statements that move the lines of the rows up to `last` into pages, by target, and
 *   add the rows' tallies to the ledger
 */
export function sortStatements(db, last) {
  return [
    db.prepare(SORT).bind(last),
    db.prepare(KEEP_BROKEN).bind(last),
    addTallies(db, last),
    db.prepare("delete from event_log where id <= ?1").bind(last),
  ];
}

/**
 * @typedef {object} Page
 * @property {number} id
 * @property {number} pages number of pages, including this one
 * @property {number} end number of the page's characters that are included in `sums`
 * @property {boolean} whole true if `sums` includes the whole page
 * @property {import("./fold.js").Sums} sums
 * @property {Map<string, string>} stored the stored day rows, by target and day
 */

/**
 * Reads the first page of events, and adds up as many of them as one run may fold.
 * @param {D1Database} db @param {number} closedDay
 * @param {Map<number, number>} merged see `mergedHours` (fold.js)
 * @returns {Promise<Page | null>} null without a page
 */
export async function readPage(db, closedDay, merged) {
  const row = await db
    .prepare("select id, lines, (select count(*) from event_page) as pages from event_page order by id limit 1")
    .first();
  if (row === null) return null;
  const { id, lines: text, pages } = /** @type {{id: number, lines: string, pages: number}} */ (row);
  const lines = readLines(text);
  const days = daysOf(lines, closedDay, PAGE_DAYS);
  const { stored, fit } = await storedDays(db, days.keys);
  const folded = lines.slice(0, fit < days.keys.length ? days.firsts[fit] : days.end);
  const sums = emptySums();
  addLines(sums, folded, closedDay, merged);
  const end = endOfLine(text, folded.length);
  return { id, pages, end, whole: end === text.length, sums, stored };
}

/**
 * @param {D1Database} db @param {Page} page
 * @returns {D1PreparedStatement} a statement that removes the folded part from the page
 */
export function removeFolded(db, { id, end, whole }) {
  if (whole) return db.prepare("delete from event_page where id = ?").bind(id);
  return db.prepare("update event_page set lines = substr(lines, ?) where id = ?").bind(end + 1, id);
}

/**
 * Reads the rows of the first of these days: as many as one run can process, but at least one.
 * @param {D1Database} db @param {[string, number][]} keys target and epoch day
 * @returns {Promise<{stored: Map<string, string>, fit: number}>} fit: number of keys covered
 */
async function storedDays(db, keys) {
  const result = await db
    .prepare(
      "select target, day, totals from (" +
        "select e.key as i, e.value ->> 0 as target, e.value ->> 1 as day, day.totals as totals, " +
        "sum(length(day.totals)) over (order by e.key) as chars from json_each(?1) e " +
        "left join day on day.target = e.value ->> 0 and day.day = e.value ->> 1) " +
        "where i = 0 or chars is null or chars <= ?2",
    )
    .bind(JSON.stringify(keys), PAGE_STORED_CHARS)
    .all();
  const rows = /** @type {{target: string, day: number, totals: string | null}[]} */ (result.results);
  /** @type {Map<string, string>} */
  const stored = new Map();
  for (const { target, day, totals } of rows) if (totals !== null) stored.set(dayKey(target, day), totals);
  return { stored, fit: rows.length };
}

/** @param {string} text @param {number} n @returns {number} the length of its first n lines */
function endOfLine(text, n) {
  let end = 0;
  for (let i = 0; i < n && end < text.length; i += 1) {
    const mark = text.indexOf("\n", end);
    end = mark < 0 ? text.length : mark + 1;
  }
  return end;
}
