/**
 * The cron job, which runs once a minute. It sorts the events of the event log into pages. It then folds pages, which
 * means that it adds their events to the totals of days and hours. To close an hour or day that has ended, it writes
 * the totals to the outbox. Finally, it pushes the outbox to the service. If a run has no such work, it adds up a part
 * of the last month, at most once in five minutes. The free plan allows 10 ms of CPU time and 50 queries per run
 * (Cloudflare docs), so each run does a limited amount of work, and the next run continues.
 */

import { keepsHours, mayAddMonths, mayEndDays } from "./budget.js";
import { clearHours, close, hasEventsOfEndedDay, isDayDue } from "./close.js";
import { addDrops } from "./event_log.js";
import { PAGE_CHARS, readPage, readTaken, removeFolded, sortStatements } from "./event_pages.js";
import { mergeDay, mergedHours } from "./fold.js";
import { addLate, addPushed } from "./ledger.js";
import { readStep } from "./months.js";
import { MAX_PARTS, PUSH_CHARS, afterPush, ownSecond, pushBody, pushDue, send } from "./push.js";
import { dayStatements, hourStatements } from "./rows.js";
import { advance, begin, currentLevel, hourToClose, today } from "./run.js";
import { addWritten, failWhen } from "./state.js";
import { MINUTE_MS, dayOf } from "./time.js";
import vocabulary from "./vocabulary.json" with { type: "json" };

/**
 * Minimum size of unsorted events that are folded before their hour ends. Smaller amounts wait, because each fold
 * writes two rows per target (a site or link).
 */
const FOLD_CHARS = 1_000_000;

/** If a run has nothing else to write, it records its time at this interval. */
const RAN_EVERY_MS = 5 * MINUTE_MS;

/**
 * After this time without a run, the cron trigger counts as stopped. Requests then run the job after their response.
 */
const OVERDUE_MS = 10 * MINUTE_MS;

/** @typedef {import("./run.js").Run} Run */

/**
 * @param {D1Database} db
 * @param {import("./push.js").PushEnv} env
 * @param {number} now epoch ms
 * @param {(ms: number) => Promise<void>} [pause] delays a push until the second of the minute that is assigned to the
 *   account; without it, a push is immediate
 */
export async function tick(db, env, now, pause) {
  const run = await begin(db, now);
  /** @type {string | null} */
  let failure = null;
  try {
    // The tables have an older schema, for example after a database restore. The format of event log rows never
    // changes, so events stay in the event log until the service has migrated the tables.
    if (run.schema < vocabulary.schema) throw new Error(`the database has schema ${run.schema}`);
    const done = (await sort(run)) && (await fold(run)) && (await clearHours(run)) && (await close(run));
    if (done) await recordRun(run);
  } catch (error) {
    // Send the push even after an error, because the push reports the error.
    failure = `cron: ${String(error)}`;
    console.error(failure);
    Object.assign(run, await begin(db, now));
  }
  await push(run, env, failure, pause);
}

/**
 * @param {{cronAt: number, firstAt: number}} config epoch ms; cronAt: the last known run, 0 for none; firstAt: the
 *   isolate's first successful read of the configuration, 0 before it
 * @param {number} tickedAt epoch ms of the last run that a request of this isolate started
 * @param {number} now
 * @returns {boolean} true if a request has to run the cron job
 */
export function isOverdue({ cronAt, firstAt }, tickedAt, now) {
  // In a new database, no run has been recorded yet. OVERDUE_MS also gives Cloudflare time to start a new cron trigger.
  return firstAt > 0 && now - Math.max(cronAt === 0 ? firstAt : cronAt, tickedAt) > OVERDUE_MS;
}

/**
 * Returns true if the write budget allows a fold. The last events of a day are folded on the next day, and count toward
 * the budget of that day.
 * @param {Run} run
 */
function mayFold(run) {
  const level = currentLevel(run);
  return keepsHours(level) || (run.state.day + 1 < dayOf(run.now) && mayEndDays(level));
}

/** @param {Run} run @returns {number | null} id of the last event log row that can be sorted now, or null */
function sortUntil(run) {
  const { state, waiting, pages, now } = run;
  // Close a day before the next events are sorted. Otherwise, their fold could use up the write budget every day.
  if (pages > 0 || isDayDue(run) || !mayFold(run)) return null;
  if (hasEventsOfEndedDay(run) || waiting.chars >= FOLD_CHARS) return waiting.settled;
  return hourToClose(now) > state.hour ? waiting.ofHours : null;
}

/**
 * Sorts the event log into pages.
 * @param {Run} run
 * @returns {Promise<boolean>} false if another run has changed the state
 */
async function sort(run) {
  const { db, now, state, waiting } = run;
  const until = sortUntil(run);
  if (until === null) return true;
  const taken = await readTaken(db, until, today(now));
  if (taken === null) return false;

  const { last } = taken;
  const pages = Math.ceil(taken.chars / PAGE_CHARS) + 1;
  const next = {
    ...state,
    sorted: last,
    // Yesterday's writes count toward yesterday's budget. The ledger usually takes one row, and two rows at midnight.
    written: addWritten(state, taken.writes + taken.rows + pages + 2, now),
    dropped: addDrops(state.dropped, taken.drops),
  };
  const done = await advance(run, next, [
    // If a write was appended after the read, the total length of the write names has changed. The batch then fails,
    // and the next run sorts the rows.
    failWhen(db, "(select coalesce(sum(length(writes)), 0) from event_log where id <= ?) <> ?", [last, taken.names]),
    ...sortStatements(db, last),
  ]);
  run.waiting = { ...waiting, first: taken.next, writes: waiting.writes - taken.writes };
  run.pages = pages;
  return done;
}

/**
 * Folds one page, or a part of it if the page is too large for one run.
 * @param {Run} run
 * @returns {Promise<boolean>} false if another run has changed the state
 */
async function fold(run) {
  const { db, now, state } = run;
  if (run.pages === 0 || !mayFold(run)) return true;
  const merged = mergedHours(state.refused);
  const page = await readPage(db, state.day, merged);
  run.pages = 0;
  if (page === null) return true;
  const { sums, stored } = page;
  const days = [...sums.days].map(([key, sum]) => ({
    target: sum.target,
    day: sum.day,
    totals: mergeDay(stored.get(key), sum),
  }));
  const hours = [...sums.hours.values()].map(({ day, hour }) => day * 24 + hour).filter((hour) => !merged.has(hour));
  const { too_old, invalid } = state.dropped;
  const next = {
    ...state,
    dirty: [...new Set([...state.dirty, ...hours])].sort((a, b) => a - b),
    written: addWritten(state, days.length + sums.hours.size + 2, now),
    dropped: { ...state.dropped, too_old: too_old + sums.tooOld, invalid: invalid + sums.invalid },
  };
  const done = await advance(run, next, [
    ...hourStatements(db, sums.hours.values()),
    ...dayStatements(db, days),
    ...addLate(db, sums.late),
    removeFolded(db, page),
  ]);
  run.pages = page.whole ? page.pages - 1 : page.pages;
  return done;
}

/**
 * Records the level and the time of this run. Isolates read them with their configuration. The same batch adds up a
 * part of the last month. There is enough CPU time for this, because this run has folded and closed nothing.
 * @param {Run} run
 */
async function recordRun(run) {
  const { db, now, state, settings, waiting } = run;
  const level = currentLevel(run);
  const isIdle = now - state.ran_at >= RAN_EVERY_MS;
  if (level === state.level && !isIdle) return;
  const mayAdd = isIdle && mayAddMonths(addWritten(state, waiting.writes, now).rows, settings);
  const step = mayAdd ? await readStep(db, state) : null;
  const { months = state.months, rows = 0, statements = [] } = step ?? {};
  await advance(run, { ...state, level, months, written: addWritten(state, rows + 1, now) }, statements);
}

/**
 * @param {Run} run @param {import("./push.js").PushEnv} env @param {string | null} failure the error of this run
 * @param {(ms: number) => Promise<void>} [pause]
 */
async function push(run, env, failure, pause) {
  const { db, now, state } = run;
  const confirms = state.push.tried !== env.INSTALL; // a user may be waiting for this confirmation
  const at = pause === undefined || confirms ? now : ownSecond(now, env);
  const due = pushDue(state, env.INSTALL, at);
  if (due === "no") return;
  const [size, page] = await db.batch([
    db.prepare("select count(*) as n from outbox"),
    db
      .prepare(
        "select id, part from (select id, part, row_number() over w as nth, sum(length(part)) over w as chars from " +
          "(select id, part from outbox order by id limit ?1) window w as (order by id)) where nth = 1 or chars <= ?2",
      )
      .bind(Math.min(MAX_PARTS, state.push.most_parts), PUSH_CHARS),
  ]);
  const queue = Number(/** @type {{n: number} | undefined} */ (size?.results[0])?.n ?? 0);
  if (due === "if_queued" && queue === 0) return;
  const rows = /** @type {import("./push.js").OutboxRow[]} */ (page?.results ?? []);
  if (pause !== undefined && at > now) await pause(at - now);
  const errorKind = failure === null ? state.push.error_kind : "cron";
  const body = pushBody(env, { ...run, now: at }, rows, queue, failure ?? state.push.error, errorKind);
  const outcome = await send(env, body);
  const { state: next, ...answered } = afterPush(state, env, rows, queue, outcome, at);
  if (failure !== null) Object.assign(next.push, { error: failure, error_kind: "cron" });
  // If another run has changed the state, the parts are sent again. This is safe, because the numbers in parts are
  // totals and not increments.
  await advance(run, next, [
    ...addPushed(db, answered),
    db.prepare("delete from outbox where id in (select value from json_each(?))").bind(JSON.stringify(answered.gone)),
  ]);
}
