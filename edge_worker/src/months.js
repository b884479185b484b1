/**
 * Adds up months. When a calendar month has ended, the rows of the table `day` are added up to one row of `month` per
 * target (site or link), in small steps. Each step advances `state.months` in the same batch, so each day is added
 * exactly once. Reports read these rows after the days are deleted. If the account limits the number of stored months,
 * older rows are also deleted in small steps. Months are numbered from the year 0 (`monthOf`).
 */

import { OTHER, bytesOf } from "./fold.js";
import { firstDayOf, monthOf } from "./time.js";
import vocabulary from "./vocabulary.json" with { type: "json" };

/**
 * Limits of one step. A step with 40,000 characters takes less CPU time than a fold (which adds events to the
 * totals). There are at most 288 steps a day, so writing the rows of 10,000 targets takes at least four days.
 */
const STEP_TARGETS = 8;
const STEP_CHARS = 40_000;
/**
 * The limit if a target needs several steps. It is lower because each of these steps also reads and writes the
 * incomplete row.
 */
const PART_CHARS = 30_000;
/** The maximum number of days that STEP_TARGETS targets can have. */
const STEP_DAYS = STEP_TARGETS * 31;

/**
 * Maximum number of rows of old months that a step deletes. Cloudflare counts deleted rows as written rows. At 288
 * steps a day, deletions take less than a tenth of the daily limit, even after somebody has lowered `months_kept`.
 */
const EXPIRED_ROWS = 32;

/** While a row is incomplete, the limits of a complete row are multiplied by this number. */
const UNFINISHED_SHARE = 4;
/** If a row is too large, the limits of its lists are multiplied by this number until the row fits. */
const SMALLER_SHARE = 0.8;
/**
 * Lists with at most this many keys keep their limits: a smaller limit would remove all of their keys. They are the
 * pages of a link, which always have the key "", and its clicks before its start and after its end.
 */
const FEW_KEYS = 2;

/**
 * @typedef {import("./fold.js").Cap} Cap
 * @typedef {keyof import("./vocabulary.json")["dimensions"]} Dimension
 * @typedef {object} Limits
 * @property {number} bytes maximum size of a row's totals
 * @property {Record<Dimension, Cap>} lists `bytes` includes quotation marks, numbers and the entry "(other)"
 */

/**
 * The limits are chosen so that rows fit well into the pages of SQLite. If a row has more than 1,002 bytes, SQLite
 * stores 489 bytes of it with the other rows, and the rest in whole pages of 4,092 bytes
 * (https://www.sqlite.org/fileformat2.html, 1.6). The row of a site therefore fills two such pages, and the row of a
 * link needs none.
 * @type {{site: Limits, link: Limits}}
 */
const LIMITS = vocabulary.months;
const DIMENSIONS = /** @type {Dimension[]} */ (Object.keys(LIMITS.site.lists));

/**
 * @typedef {object} MonthState
 * @property {number} from the first month that is added up and not deleted
 * @property {number} month the month to add up next; all earlier months are complete
 * @property {string} target the last target whose days were added to this month, "" for none
 * @property {number | null} day the last day of this target that was added; null if the target is complete
 * @property {Record<string, number>} first_days by month: the first day that its rows contain, if earlier days were
 *   deleted before they could be added up
 * @property {number} [kept_from] the first month after the months that were deleted because of their age; missing if
 *   none was deleted. It can be before `from`, because the service can import months from before the installation.
 * @property {boolean} [expired] true if rows of months before `kept_from` may still be stored
 *
 * @typedef {object} MonthSum
 * @property {number} from epoch day: the first day that the sum contains
 * @property {number} views @property {number} visitors the sum of daily visitors
 * @property {Partial<Record<Dimension, Map<string, number>>>} lists
 * @property {[number, number] | null} unlisted the first and the last day without the lists that older Workers do not
 *   store; the whole month if no day has these lists
 * @property {boolean} listed true if a day has these lists
 *
 * @typedef {object} Step
 * @property {MonthState} months the next state
 * @property {number} rows number of rows to write
 * @property {D1PreparedStatement[]} statements
 */

/** @param {number} first epoch day: the first day in the database @returns {MonthState} before any month is added up */
export function newMonths(first) {
  const month = monthOf(first);
  return { from: month, month, target: "", day: null, first_days: {} };
}

/** @param {MonthState} months @returns {number} epoch day: all days before this day are in the table `month` */
export const addedUntil = ({ month }) => firstDayOf(month);

/**
 * Returns the state after the deletion of days. Some of these days may not have been added up yet.
 * @param {MonthState} months @param {number} keptFrom epoch day: the first day that is not deleted
 * @returns {MonthState} `months` itself if it already takes the deletion into account
 */
export function withoutDays(months, keptFrom) {
  const first_days = { ...months.first_days };
  let hasChanged = false;
  for (let { month } = months; firstDayOf(month) < keptFrom; month += 1) {
    const first = Math.min(keptFrom, firstDayOf(month + 1));
    if (first <= (first_days[month] ?? 0)) continue;
    first_days[month] = first;
    hasChanged = true;
  }
  // If a target's row is incomplete, add its days again from the first remaining day. Otherwise, the row would lack the
  // deleted days between those already added and those added later.
  return hasChanged ? { ...months, first_days, day: months.day === null ? null : 0 } : months;
}

/**
 * Returns the state after months were deleted because of their age. Their rows are deleted later (`readExpiredRows`).
 * Reports no longer use these months, because some of their rows may already be missing.
 * @param {MonthState} months @param {number} first the first month that is not deleted; -Infinity to delete none
 * @returns {MonthState} `months` itself if these months have already been deleted
 */
export function withoutMonths(months, first) {
  const kept_from = Math.min(first, months.month);
  if (kept_from <= (months.kept_from ?? 0)) return months;
  const left = Object.entries(months.first_days).filter(([month]) => Number(month) >= kept_from);
  const from = Math.max(months.from, kept_from);
  return { ...months, from, kept_from, first_days: Object.fromEntries(left), expired: true };
}

// If the rows of the first target exceed the limit, the step contains only some of its days. `upto_target` is the size
// up to the target's last row, because rows with the same target are peers in the window. Rows that are not valid,
// because another program wrote them, are skipped.
const DAYS =
  "select target, day, totals, upto_target > upto as more from (select target, day, totals, " +
  "row_number() over (order by target, day) as i, dense_rank() over (order by target) as nth, " +
  "sum(length(totals)) over (order by target) as upto_target, " +
  "sum(length(totals)) over (order by target, day) as upto from (" +
  "select target, day, totals from day where (target, day) > (?1, ?2) and day between ?3 and ?4 " +
  "and typeof(target) = 'text' and typeof(day) = 'integer' and json_valid(totals) " +
  `order by target, day limit ${STEP_DAYS})) where nth <= ${STEP_TARGETS} and ` +
  `(upto_target <= ?5 or nth = 1 and (upto <= ${PART_CHARS} or i = 1))`;

const SAVE =
  "insert into month(month, target, totals) select value ->> 0, value ->> 1, value -> '$[2]' from json_each(?) " +
  "where true on conflict(month, target) do update set totals = excluded.totals";

const EXPIRED = `from month where month < ?1 order by month, target limit ${EXPIRED_ROWS}`;

/**
 * Returns the next step. It adds up days, or deletes rows of months that are older than the account's setting.
 * @param {D1Database} db
 * @param {{day: number, months: MonthState}} state day: the last closed day
 * @returns {Promise<Step | null>} null if there is nothing to do
 */
export const readStep = async (db, state) => (await readDays(db, state)) ?? (await readExpiredRows(db, state.months));

/**
 * @param {D1Database} db @param {MonthState} months @returns {Promise<Step | null>} null if no rows of deleted months
 *   remain
 */
async function readExpiredRows(db, months) {
  const { kept_from = 0, expired } = months;
  if (expired !== true) return null;
  const [found] = await db.batch([db.prepare(`select count(*) as n from (select 1 ${EXPIRED})`).bind(kept_from)]);
  const rows = Number(/** @type {{n: number} | undefined} */ (found?.results[0])?.n ?? 0);
  const statement = db
    .prepare(`delete from month where (month, target) in (select month, target ${EXPIRED})`)
    .bind(kept_from);
  return { months: { ...months, expired: rows === EXPIRED_ROWS }, rows, statements: rows === 0 ? [] : [statement] };
}

/**
 * Reads the next days to add up.
 * @param {D1Database} db
 * @param {{day: number, months: MonthState}} state day: the last closed day
 * @returns {Promise<Step | null>} null if all closed months are added up
 */
async function readDays(db, { day: closedDay, months }) {
  const { month, target } = months;
  const [firstDay, nextMonth] = [firstDayOf(month), firstDayOf(month + 1)];
  if (closedDay + 1 < nextMonth) return null;
  const hasBegun = months.day !== null && months.day > 0;
  const most = hasBegun ? PART_CHARS : STEP_CHARS;
  const [days, started] = await db.batch([
    db.prepare(DAYS).bind(target, months.day ?? nextMonth, firstDay, nextMonth - 1, most),
    db.prepare("select totals from month where month = ? and target = ?").bind(month, target),
  ]);
  const rows = /** @type {{target: string, day: number, totals: string, more: number}[]} */ (days?.results ?? []);
  const last = rows.at(-1);
  if (last === undefined) {
    return { months: { ...months, month: month + 1, target: "", day: null }, rows: 0, statements: [] };
  }
  /** @type {Map<string, MonthSum>} */
  const sums = new Map();
  const begun = /** @type {{totals: string} | undefined} */ (started?.results[0]);
  if (hasBegun && begun !== undefined && rows[0]?.target === target) {
    sums.set(target, readSum(begun.totals));
  }
  for (const row of rows) {
    const known = sums.get(row.target);
    const sum = known ?? newSum(months.first_days[month] ?? firstDay);
    addDay(sum, row.day, JSON.parse(row.totals));
    if (known === undefined) sums.set(row.target, sum);
  }
  const saved = [...sums].map(([name, sum]) => {
    const unfinished = name === last.target && last.more === 1;
    return `[${month},${JSON.stringify(name)},${encodeSum(sum, name, unfinished)}]`;
  });
  return {
    months: { ...months, target: last.target, day: last.more === 1 ? last.day : null },
    rows: saved.length,
    statements: [db.prepare(SAVE).bind(`[${saved.join(",")}]`)],
  };
}

/** @param {number} from epoch day @returns {MonthSum} */
const newSum = (from) => ({ from, views: 0, visitors: 0, lists: {}, unlisted: null, listed: false });

/** @param {unknown} value @returns {number} 0 if another program wrote something that is not a number */
const numberOf = (value) => (typeof value === "number" ? value : 0);

/**
 * @param {MonthSum} sum updated in place
 * @param {number} day epoch day @param {unknown} totals of the day
 */
export function addDay(sum, day, totals) {
  const stored = /** @type {Record<string, unknown>} */ (totals ?? {});
  sum.views += numberOf(stored.views);
  sum.visitors += numberOf(stored.visitors);
  addLists(sum, stored);
  if (stored.entries === undefined) {
    const first = sum.unlisted?.[0] ?? day;
    sum.unlisted = [Math.min(first, day), Math.max(sum.unlisted?.[1] ?? day, day)];
  } else {
    sum.listed = true;
  }
}

/** @param {MonthSum} sum updated in place @param {Record<string, unknown>} stored */
function addLists({ lists }, stored) {
  for (const name of DIMENSIONS) {
    const counts = stored[name];
    if (typeof counts !== "object" || counts === null) continue;
    const list = (lists[name] ??= new Map());
    const each = /** @type {Record<string, unknown>} */ (counts);
    for (const key in each) list.set(key, (list.get(key) ?? 0) + numberOf(each[key]));
  }
}

/** @param {string} text totals of a row that is not complete yet @returns {MonthSum} */
function readSum(text) {
  const stored = JSON.parse(text);
  const { from, views, visitors, unlisted = null, listed = false } = stored;
  const sum = { ...newSum(from), views, visitors, unlisted, listed };
  addLists(sum, stored);
  return sum;
}

const utf8 = new TextEncoder();

/**
 * @param {MonthSum} sum @param {string} target
 * @param {boolean} unfinished true if other days of this target will be added later
 * @returns {string} the totals as JSON, without empty lists
 */
export function encodeSum(sum, target, unfinished) {
  const { bytes, lists } = target.startsWith("lnk_") ? LIMITS.link : LIMITS.site;
  if (unfinished) return `${encode(sum, lists, UNFINISHED_SHARE).slice(0, -1)},"listed":${sum.listed}}`;
  const month = monthOf(sum.from);
  const done = sum.listed
    ? sum
    : { ...sum, unlisted: /** @type {[number, number]} */ ([firstDayOf(month), firstDayOf(month + 1) - 1]) };
  let text = encode(done, lists, 1);
  for (let share = SMALLER_SHARE; utf8.encode(text).length > bytes; share *= SMALLER_SHARE) {
    text = encode(done, lists, share);
  }
  return text;
}

/**
 * @param {MonthSum} sum @param {Limits["lists"]} caps @param {number} share the part of the limits that may be used
 * @returns {string}
 */
function encode({ from, views, visitors, lists, unlisted }, caps, share) {
  const parts = DIMENSIONS.map((name) => {
    const { keys, bytes } = caps[name];
    const part = keys <= FEW_KEYS ? 1 : share;
    const entries = largest([...(lists[name] ?? [])], keys * part, bytes * part);
    return entries === "" ? "" : `,"${name}":{${entries}}`;
  });
  const missing = unlisted === null ? "" : `,"unlisted":${JSON.stringify(unlisted)}`;
  return `{"from":${from},"views":${views},"visitors":${visitors}${parts.join("")}${missing}}`;
}

/** Size of the entry "(other)" with a large count, in bytes. */
const OTHER_BYTES = 20;

/**
 * Returns the entries with the largest counts as JSON. All others are added up under "(other)".
 * @param {[string, number][]} entries @param {number} keys @param {number} bytes maximum size, with "(other)"
 */
function largest(entries, keys, bytes) {
  const most = Math.floor(keys);
  const named = entries.filter(([key]) => key !== OTHER);
  const least = nthLargest(named, most);
  const candidates = named.filter(([, n]) => n >= least);
  candidates.sort(([key, n], [otherKey, otherN]) => otherN - n || (key < otherKey ? -1 : 1));
  let left = bytes - OTHER_BYTES;
  let other = entries.reduce((sum, [, n]) => sum + n, 0);
  /** @type {string[]} */
  const shown = [];
  for (const [key, n] of candidates) {
    const text = `${JSON.stringify(key)}:${n}`;
    const size = bytesOf(text) + 1;
    if (shown.length < most && size <= left) {
      shown.push(text);
      left -= size;
      other -= n;
    }
  }
  if (other > 0) shown.push(`"${OTHER}":${other}`);
  return shown.join(",");
}

/**
 * Returns the nth largest count. Sorting numbers takes much less time than sorting entries.
 * @param {[string, number][]} entries @param {number} nth
 */
function nthLargest(entries, nth) {
  if (entries.length <= nth) return -Infinity;
  const counts = Float64Array.from(entries, ([, n]) => n).sort();
  return nth === 0 ? Infinity : (counts[counts.length - nth] ?? 0);
}
