/**
 * The cron, once a minute: folds parts into days and hours, closes hours and days into the queue, pushes the queue.
 * A run does a bounded piece of work (10 ms of CPU, 50 queries: platform docs, free plan) and leaves the rest to the
 * next.
 */

import { keepsHours, levelOf } from "./budget.js";
import { addBody, emptySums, mergeDay } from "./fold.js";
import { FLUSH_NAME_CHARS, SLOTS } from "./gather.js";
import { MOST_PARTS, PUSH_CHARS, afterPush, pushBody, pushDue, send } from "./push.js";
import { OUT_KEPT_MS, clearStatements, partStatements } from "./queue.js";
import { dayStatements, hourStatements } from "./rows.js";
import { addWritten, commit, failWhen, readState } from "./state.js";
import { DAY_MS, HOUR_MS, MINUTE_MS, dayOf, hourOf } from "./time.js";

/** A run folds parts up to this size: about 3 ms of CPU. */
const PAGE_CHARS = 256_000;
const PAGE_ROWS = 300;
/** … and of about so many targets: each has a day's row to be read, added to and written. */
const PAGE_TARGETS = 200;

/** Below this size parts wait for the end of their hour: a fold costs two rows a target, however few the events. */
const FOLD_CHARS = 192_000;

/** A part takes events during its minute; this much later its writes are done. */
const SETTLED_MS = MINUTE_MS;

/** An hour is closed when the parts of this long after it are folded: events are written within 30 s, or retried. */
const HOUR_GRACE_MS = 2 * MINUTE_MS;

/** A day: late writes after a disturbance at midnight still count. */
const DAY_GRACE_MS = 9 * MINUTE_MS;

/**
 * @typedef {import("./state.js").State} State
 * @typedef {{id: number, chars: number}} Pending
 * @typedef {object} Run
 * @property {D1Database} db
 * @property {number} now epoch ms
 * @property {string} text the state as stored
 * @property {State} state
 * @property {Pending[]} pending the first parts that are not folded
 * @property {number} unfolded writes of events today that are not folded, and so not in `state.written`
 */

/** @param {number} at @returns {number} the least id of a part of this minute or later */
const partBound = (at) => Math.floor(at / MINUTE_MS) * SLOTS;

/** @param {number} now @returns {number} the least id of a part of this UTC day */
const today = (now) => partBound(dayOf(now) * DAY_MS);

/**
 * @param {D1Database} db
 * @param {import("./push.js").PushEnv} env
 * @param {number} now epoch ms
 */
export async function tick(db, env, now) {
  const run = await begin(db, now);
  /** @type {string | null} */
  let failure = null;
  try {
    if ((await fold(run)) && (await close(run))) await noteLevel(run);
  } catch (error) {
    // The push goes out all the same, and says so.
    failure = `cron: ${String(error)}`;
    console.error(failure);
    Object.assign(run, await begin(db, now));
  }
  await push(run, env, failure);
}

/** @param {D1Database} db @param {number} now @returns {Promise<Run>} */
async function begin(db, now) {
  const [meta, parts, writes] = await db.batch([
    db.prepare("select v from meta where k = 'state'"),
    db.prepare("select id, length(body) as chars from part order by id limit ?").bind(PAGE_ROWS + 1),
    db.prepare("select coalesce(sum(length(f)), 0) as f from part where id >= ?").bind(today(now)),
  ]);
  const text = String(/** @type {{v: string} | undefined} */ (meta?.results[0])?.v ?? "{}");
  const pending = /** @type {Pending[]} */ (parts?.results ?? []);
  const unfolded = Number(/** @type {{f: number} | undefined} */ (writes?.results[0])?.f ?? 0) / FLUSH_NAME_CHARS;
  // A new database: events were perhaps written before the first cron, and received up to a minute before that.
  const first = pending[0] === undefined ? now : Math.floor(pending[0].id / SLOTS - 1) * MINUTE_MS;
  return { db, now, text, state: readState(text, now, Math.min(now, first)), pending, unfolded };
}

/**
 * @param {Run} run changed: its state, and what is still pending
 * @param {State} next
 * @param {D1PreparedStatement[]} statements
 * @returns {Promise<boolean>} false: another run was faster, this one ends
 */
async function advance(run, next, statements) {
  const text = await commit(run.db, run.text, next, statements);
  if (text === null) return false;
  run.text = text;
  run.state = next;
  return true;
}

/** @param {Run} run @returns {number} the write budget's level now */
function currentLevel({ state, unfolded, now }) {
  return levelOf(addWritten(state, unfolded, now).rows);
}

/** @param {Run} run */
function mustFold(run) {
  const { state, pending, now } = run;
  const settled = pending.filter(({ id }) => id < partBound(now - SETTLED_MS));
  if (settled.length === 0) return false;
  const first = /** @type {Pending} */ (settled[0]).id;
  // The end of a day is folded in the new day's budget, whatever the level.
  if (state.day + 1 < dayOf(now) && first < partBound((state.day + 2) * DAY_MS + DAY_GRACE_MS)) return true;
  if (!keepsHours(currentLevel(run))) return false;
  const chars = settled.reduce((sum, part) => sum + part.chars, 0);
  return chars >= FOLD_CHARS || pending.length > PAGE_ROWS || hourToClose(run) > state.hour;
}

/** @param {Run} run @returns {number} hours before this epoch hour have had their grace */
const hourToClose = ({ now }) => hourOf(now - HOUR_GRACE_MS - SETTLED_MS);

/**
 * Folds one page of parts.
 * @param {Run} run
 * @returns {Promise<boolean>} false: another run was faster
 */
async function fold(run) {
  const { db, now, state } = run;
  if (!mustFold(run)) return true;
  const { rows, sums } = await readPage(run);
  const last = /** @type {{id: number}} */ (rows.at(-1)).id;
  const keys = JSON.stringify([...sums.days.values()].map(({ t, d }) => [t, d]));
  const known = await db
    .prepare(
      "select day.t, day.d, day.j from json_each(?) e join day on day.t = e.value ->> 0 and day.d = e.value ->> 1",
    )
    .bind(keys)
    .all();
  const stored = new Map(
    /** @type {{t: string, d: number, j: string}[]} */ (known.results).map(({ t, d, j }) => [`${t} ${d}`, j]),
  );
  const days = [...sums.days].map(([key, sum]) => ({ t: sum.t, d: sum.d, totals: mergeDay(stored.get(key), sum) }));
  // What was written yesterday is of yesterday's budget.
  const flushes = rows
    .filter(({ id }) => id >= today(now))
    .reduce((sum, { f }) => sum + f.length / FLUSH_NAME_CHARS, 0);
  const touched = [...sums.hours.values()].map(({ d, h }) => d * 24 + h);
  const next = {
    ...state,
    folded: last,
    dirty: [...new Set([...state.dirty, ...touched])].sort((a, b) => a - b),
    written: addWritten(state, flushes + rows.length + days.length + sums.hours.size + 1, now),
    dropped: addDrops(state.dropped, rows, sums),
  };
  const done = await advance(run, next, [
    // A late write may have been appended to a part since it was read: then all of it waits for the next run.
    // The writes' names tell; bodies are measured in other units here (UTF-16) than there.
    failWhen(db, "(select coalesce(sum(length(f)), 0) from part where id <= ?) <> ?", [
      last,
      rows.reduce((sum, { f }) => sum + f.length, 0),
    ]),
    ...hourStatements(db, sums.hours.values()),
    ...dayStatements(db, days),
    db.prepare("delete from part where id <= ?").bind(last),
  ]);
  run.pending = run.pending.filter(({ id }) => id > last);
  run.unfolded -= flushes;
  return done;
}

/**
 * @param {Run} run
 * @returns {Promise<{rows: {id: number, body: string, f: string, x: string}[], sums: import("./fold.js").Sums}>}
 */
async function readPage({ db, now, state, pending }) {
  let chars = 0;
  let last = 0;
  for (const { id, chars: more } of pending) {
    chars += more;
    if (last > 0 && (chars > PAGE_CHARS || id >= partBound(now - SETTLED_MS))) break;
    last = id;
  }
  const answer = await db.prepare("select id, body, f, x from part where id <= ? order by id").bind(last).all();
  const all = /** @type {{id: number, body: string, f: string, x: string}[]} */ (answer.results);
  const sums = emptySums();
  /** @type {typeof all} */
  const rows = [];
  for (const row of all) {
    addBody(sums, row.body, state.day);
    rows.push(row);
    if (sums.days.size > PAGE_TARGETS) break;
  }
  return { rows, sums };
}

/**
 * @param {import("./state.js").Dropped} dropped
 * @param {{x: string}[]} rows
 * @param {import("./fold.js").Sums} sums
 */
function addDrops(dropped, rows, sums) {
  const next = { ...dropped, too_old: dropped.too_old + sums.tooOld, invalid: dropped.invalid + sums.invalid };
  for (const { x } of rows) {
    for (const line of x.split("\n")) {
      if (line === "") continue;
      const [reason, n] = /** @type {[import("./state.js").DropReason, number]} */ (JSON.parse(line));
      next[reason] += n;
    }
  }
  return next;
}

/**
 * Closes one day, or the hours of one day, when all their parts are folded.
 * @param {Run} run
 * @returns {Promise<boolean>} false: another run was faster
 */
async function close(run) {
  const { state, pending, now } = run;
  const first = pending[0]?.id ?? Number.MAX_SAFE_INTEGER;
  const day = state.day + 1;
  const dayEnd = (day + 1) * DAY_MS;
  if (now >= dayEnd + DAY_GRACE_MS + SETTLED_MS && first >= partBound(dayEnd + DAY_GRACE_MS)) {
    return closeDay(run, day);
  }
  const until = Math.min(hourToClose(run), (dayOf(state.hour * HOUR_MS) + 1) * 24);
  if (until <= state.hour) return true;
  if (first >= partBound(until * HOUR_MS + HOUR_GRACE_MS)) return closeHours(run, until);
  return keepsHours(currentLevel(run)) ? true : refuseHours(run, until);
}

/** @param {Run} run @param {number} until epoch hour: the hours before it */
async function closeHours(run, until) {
  const { db, now, state } = run;
  const day = Math.floor((until - 1) / 24);
  const hours = state.dirty.filter((hour) => hour < until && Math.floor(hour / 24) === day).map((hour) => hour % 24);
  const count = await db
    .prepare("select count(distinct t) as n from hr where d = ? and h in (select value from json_each(?))")
    .bind(day, JSON.stringify(hours))
    .first("n");
  const closing = { day, hours, refused: [], last: (until - 1) % 24, final: false, targets: Number(count) };
  const parts = partStatements(db, closing, state.next_out, now);
  const next = {
    ...state,
    hour: until,
    as_of: until * HOUR_MS,
    dirty: state.dirty.filter((hour) => hour >= until || Math.floor(hour / 24) !== day),
    next_out: state.next_out + parts.length,
    // Each part is written, and deleted when it was sent; the push writes the state once more.
    written: addWritten(state, 2 * parts.length + 2, now),
  };
  return advance(run, next, parts);
}

/**
 * The write budget is short: these hours get no points. Their events wait in their parts for the end of the day.
 * @param {Run} run @param {number} until
 */
async function refuseHours(run, until) {
  const { db, now, state } = run;
  const day = Math.floor((until - 1) / 24);
  const refused = Array.from({ length: until - state.hour }, (_, i) => (state.hour + i) % 24);
  const last = Math.max(-1, Math.floor((state.as_of - day * DAY_MS) / HOUR_MS) - 1);
  const parts = partStatements(db, { day, hours: [], refused, last, final: false, targets: 0 }, state.next_out, now);
  const next = {
    ...state,
    hour: until,
    next_out: state.next_out + parts.length,
    dropped: { ...state.dropped, budget: state.dropped.budget + refused.length },
    written: addWritten(state, 2 * parts.length + 2, now),
  };
  return advance(run, next, parts);
}

/** @param {Run} run @param {number} day */
async function closeDay(run, day) {
  const { db, now, state } = run;
  const [counts, expired] = await db.batch([
    db.prepare("select count(distinct t) as targets, count(*) as hours from hr where d = ?").bind(day),
    db.prepare("select count(*) as n from out where born < ?").bind(now - OUT_KEPT_MS),
  ]);
  const { targets = 0, hours: rows = 0 } = /** @type {{targets?: number, hours?: number}} */ (counts?.results[0] ?? {});
  const hours = state.dirty.filter((hour) => Math.floor(hour / 24) === day).map((hour) => hour % 24);
  const closing = { day, hours, refused: [], last: 23, final: true, targets };
  const parts = targets === 0 ? [] : partStatements(db, closing, state.next_out, now);
  const gone = Number(/** @type {{n: number} | undefined} */ (expired?.results[0])?.n ?? 0);
  const next = {
    ...state,
    day,
    hour: Math.max(state.hour, (day + 1) * 24),
    as_of: Math.max(state.as_of, (day + 1) * DAY_MS),
    dirty: state.dirty.filter((hour) => Math.floor(hour / 24) > day),
    next_out: state.next_out + parts.length,
    dropped: { ...state.dropped, expired: state.dropped.expired + gone },
    // The day's rows twice: their visitors now, their end after 35 days.
    written: addWritten(state, 2 * parts.length + 2 * targets + rows + gone + 3, now),
  };
  return advance(run, next, [...parts, ...clearStatements(db, day, now)]);
}

/** Isolates read the level with their configuration. @param {Run} run */
async function noteLevel(run) {
  const level = currentLevel(run);
  if (level === run.state.level) return;
  await advance(run, { ...run.state, level, written: addWritten(run.state, 1, run.now) }, []);
}

/**
 * @param {Run} run @param {import("./push.js").PushEnv} env @param {string | null} failure what went wrong in this run
 */
async function push(run, env, failure) {
  const { db, now, state } = run;
  const due = pushDue(state, env.INSTALL, now);
  if (due === "no") return;
  const [size, page] = await db.batch([
    db.prepare("select count(*) as n from out"),
    db
      .prepare(
        "select id, body from (select id, body, row_number() over w as nth, sum(length(body)) over w as chars " +
          "from (select id, body from out order by id limit ?1) window w as (order by id)) where nth = 1 or chars <= ?2",
      )
      .bind(Math.min(MOST_PARTS, state.push.most_parts), PUSH_CHARS),
  ]);
  const queue = Number(/** @type {{n: number} | undefined} */ (size?.results[0])?.n ?? 0);
  if (due === "if_queued" && queue === 0) return;
  const rows = /** @type {import("./push.js").OutRow[]} */ (page?.results ?? []);
  const body = pushBody(env, state, rows, queue, failure ?? state.push.error, now);
  const outcome = await send(env, body);
  const { state: next, gone } = afterPush(state, env, rows, queue, outcome, now);
  if (failure !== null) next.push.error = failure;
  // When another run was faster the parts are sent again: their numbers are absolute.
  await advance(run, next, [
    db.prepare("delete from out where id in (select value from json_each(?))").bind(JSON.stringify(gone)),
  ]);
}
