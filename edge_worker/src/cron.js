/**
 * The cron job, which runs once a minute. It sorts the events of the event log into pages. It then folds pages, which
 * means that it adds their events to the totals of days and hours. To close an hour or day that has ended, it writes
 * the totals to the outbox. Finally, it pushes the outbox to the service. If a run has no such work, it adds up a part
 * of the last month, at most once in five minutes. The free plan allows 10 ms of CPU time and 50 queries per run
 * (Cloudflare docs), so each run does a limited amount of work, and the next run continues.
 */

import { keepsHours, levelOf, mayAddMonths } from "./budget.js";
import { addDrops, firstIdAt, minuteOf } from "./event_log.js";
import {
  PAGE_CHARS,
  SETTLED_MS,
  readPage,
  readTaken,
  readWaiting,
  sortStatements,
  removeFolded,
  waitingStatement,
} from "./event_pages.js";
import { mergeDay } from "./fold.js";
import { deleteExpired, isNearlyFull, oldestStatement, readExpired } from "./kept_days.js";
import { addLate, addPushed, clearLedger } from "./ledger.js";
import { readStep } from "./months.js";
import { PARTS_KEPT_MS, clearStatements, partStatements } from "./outbox.js";
import { MAX_PARTS, PUSH_CHARS, afterPush, ownSecond, pushBody, pushDue, send } from "./push.js";
import { dayStatements, hourStatements } from "./rows.js";
import { settingsOf } from "./settings.js";
import { addWritten, commit, failWhen, readState } from "./state.js";
import { DAY_MS, HOUR_MS, MINUTE_MS, dayOf, hourOf } from "./time.js";
import vocabulary from "./vocabulary.json" with { type: "json" };

/**
 * Minimum size of unsorted events that are folded before their hour ends. Smaller amounts wait, because each fold
 * writes two rows per target (a site or link).
 */
const FOLD_CHARS = 1_000_000;

/** An hour is closed only after this grace period. Events are written within 30 s, or their write is retried. */
const HOUR_GRACE_MS = 2 * MINUTE_MS;

/** A day is closed only after this grace period, so that writes still count if an outage at midnight delays them. */
const DAY_GRACE_MS = 9 * MINUTE_MS;

/** If a run has nothing else to write, it records its time at this interval. */
const RAN_EVERY_MS = 5 * MINUTE_MS;

/**
 * After this time without a run, the cron trigger counts as stopped. Requests then run the job after their response.
 */
const OVERDUE_MS = 10 * MINUTE_MS;

/**
 * @typedef {import("./state.js").State} State
 * @typedef {object} Run
 * @property {D1Database} db
 * @property {number} now epoch ms
 * @property {string} text the state as stored
 * @property {State} state the parsed state
 * @property {number} schema of the database
 * @property {import("./settings.js").Settings} settings of the account
 * @property {import("./event_pages.js").Waiting} waiting unsorted rows
 * @property {number} pages number of pages that are not folded yet
 */

/**
 * @param {number} now @returns {number} epoch hour; all earlier hours can be closed, because their grace period has
 *   ended
 */
const hourToClose = (now) => hourOf(now - HOUR_GRACE_MS - SETTLED_MS);

/** @param {number} now @returns {number} the smallest event log id of this UTC day */
const today = (now) => firstIdAt(dayOf(now) * DAY_MS);

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
    if ((await sort(run)) && (await fold(run)) && (await close(run))) await recordRun(run);
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

/** @param {D1Database} db @param {number} now @returns {Promise<Run>} */
async function begin(db, now) {
  const [meta, waits, waitingPages] = await db.batch([
    db.prepare(
      "select state.value, schema.value as schema, config.body as settings from meta as state " +
        "left join meta as schema on schema.key = 'schema' left join config on config.key = 'days_kept' " +
        "where state.key = 'state'",
    ),
    waitingStatement(db, now, today(now), firstIdAt(hourToClose(now) * HOUR_MS + HOUR_GRACE_MS)),
    db.prepare("select count(*) as n from event_page"),
  ]);
  const found = /** @type {{value: string, schema: number | null, settings: unknown} | undefined} */ (meta?.results[0]);
  const text = String(found?.value ?? "{}");
  const waiting = readWaiting(waits?.results[0]);
  const pages = Number(/** @type {{n: number} | undefined} */ (waitingPages?.results[0])?.n ?? 0);
  // In a new database, the first events may be older than the first run. They arrived up to a minute before they were
  // written.
  const first = Math.min(now, minuteOf(waiting.first) - MINUTE_MS);
  const schema = found?.schema ?? vocabulary.schema;
  const settings = settingsOf(found?.settings);
  return { db, now, text, state: readState(text, now, first), schema, settings, waiting, pages };
}

/**
 * @param {Run} run receives the new state
 * @param {State} next
 * @param {D1PreparedStatement[]} statements
 * @returns {Promise<boolean>} false if another run has changed the state, so that this run must end
 */
async function advance(run, next, statements) {
  next.ran_at = run.now;
  // The first write of a new day resets the level.
  if (next.written.day !== run.state.written.day) next.level = levelOf(next.written.rows, run.settings);
  const text = await commit(run.db, run.text, next, statements);
  if (text === null) return false;
  run.text = text;
  run.state = next;
  return true;
}

/** @param {Run} run @returns {number} the current level of the write budget */
function currentLevel({ state, settings, waiting, now }) {
  return levelOf(addWritten(state, waiting.writes, now).rows, settings);
}

/**
 * Returns true if the write budget allows a fold. The last events of a day are folded at any level. Their fold runs on
 * the next day, and counts toward the budget of that day.
 * @param {Run} run
 */
const mayFold = (run) => keepsHours(currentLevel(run)) || run.state.day + 1 < dayOf(run.now);

/** @param {Run} run @returns {number | null} id of the last event log row that can be sorted now, or null */
function sortUntil(run) {
  const { state, waiting, pages, now } = run;
  if (pages > 0 || !mayFold(run)) return null;
  const ofOpenDay = waiting.first < firstIdAt((state.day + 2) * DAY_MS + DAY_GRACE_MS);
  const dayEnds = state.day + 1 < dayOf(now) && ofOpenDay;
  if (dayEnds || waiting.chars >= FOLD_CHARS) return waiting.settled;
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
  const page = await readPage(db, state.day);
  run.pages = 0;
  if (page === null) return true;
  const { sums, stored } = page;
  const days = [...sums.days].map(([key, sum]) => ({
    target: sum.target,
    day: sum.day,
    totals: mergeDay(stored.get(key), sum),
  }));
  const hours = [...sums.hours.values()].map(({ day, hour }) => day * 24 + hour);
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
 * Closes one day, or the hours of one day, when all their events are folded.
 * @param {Run} run
 * @returns {Promise<boolean>} false if another run has changed the state
 */
async function close(run) {
  const { state, pages, now } = run;
  // Pages can contain events of any hour, so no hour can be closed before all pages are folded.
  const first = pages > 0 ? 0 : run.waiting.first;
  const day = state.day + 1;
  const dayEnd = (day + 1) * DAY_MS;
  if (now >= dayEnd + DAY_GRACE_MS + SETTLED_MS && first >= firstIdAt(dayEnd + DAY_GRACE_MS)) {
    return closeDay(run, day);
  }
  const until = Math.min(hourToClose(run.now), (dayOf(state.hour * HOUR_MS) + 1) * 24);
  if (until <= state.hour) return true;
  if (first >= firstIdAt(until * HOUR_MS + HOUR_GRACE_MS)) return closeHours(run, until);
  return keepsHours(currentLevel(run)) ? true : refuseHours(run, until);
}

/** @param {Run} run @param {number} until epoch hour; closes the hours before it */
async function closeHours(run, until) {
  const { db, now, state } = run;
  const day = Math.floor((until - 1) / 24);
  const hours = state.dirty.filter((hour) => hour < until && Math.floor(hour / 24) === day).map((hour) => hour % 24);
  const count = await db
    .prepare("select count(distinct target) as n from hour where day = ? and hour in (select value from json_each(?))")
    .bind(day, JSON.stringify(hours))
    .first("n");
  const closing = { day, hours, refused: [], last: (until - 1) % 24, final: false, targets: Number(count) };
  const parts = partStatements(db, closing, state.next_part, now);
  const next = {
    ...state,
    hour: until,
    as_of: until * HOUR_MS,
    dirty: state.dirty.filter((hour) => hour >= until || Math.floor(hour / 24) !== day),
    next_part: state.next_part + parts.length,
    // Each part is written once. Its later deletion counts as another written row. The push also writes the state and
    // the ledger.
    written: addWritten(state, 2 * parts.length + 3, now),
  };
  return advance(run, next, parts);
}

/**
 * Closes the hours before `until` without writing their hourly totals, because too little of the write budget remains.
 * The events of these hours stay in the event log until the end of the day.
 * @param {Run} run @param {number} until
 */
async function refuseHours(run, until) {
  const { db, now, state } = run;
  const day = Math.floor((until - 1) / 24);
  const refused = Array.from({ length: until - state.hour }, (_, i) => (state.hour + i) % 24);
  const last = Math.max(-1, Math.floor((state.as_of - day * DAY_MS) / HOUR_MS) - 1);
  const parts = partStatements(db, { day, hours: [], refused, last, final: false, targets: 0 }, state.next_part, now);
  const next = {
    ...state,
    hour: until,
    next_part: state.next_part + parts.length,
    dropped: { ...state.dropped, budget: state.dropped.budget + refused.length },
    written: addWritten(state, 2 * parts.length + 2, now),
  };
  return advance(run, next, parts);
}

/** @param {Run} run @param {number} day */
async function closeDay(run, day) {
  const { db, now, state, settings } = run;
  const [counts, givenUp, oldest] = await db.batch([
    db.prepare("select count(distinct target) as targets, count(*) as hours from hour where day = ?").bind(day),
    db.prepare("select count(*) as n from outbox where made_at < ?").bind(now - PARTS_KEPT_MS),
    oldestStatement(db, day),
  ]);
  const { targets = 0, hours: rows = 0 } = /** @type {{targets?: number, hours?: number}} */ (counts?.results[0] ?? {});
  const hours = state.dirty.filter((hour) => Math.floor(hour / 24) === day).map((hour) => hour % 24);
  const closing = { day, hours, refused: [], last: 23, final: true, targets };
  const parts = partStatements(db, closing, state.next_part, now);
  const gone = Number(/** @type {{n: number} | undefined} */ (givenUp?.results[0])?.n ?? 0);
  const expired = readExpired(settings, oldest, day, state, isNearlyFull(Number(counts?.meta.size_after)));
  const next = {
    ...state,
    day,
    kept_from: expired.keptFrom,
    months: expired.months,
    hour: Math.max(state.hour, (day + 1) * 24),
    as_of: Math.max(state.as_of, (day + 1) * DAY_MS),
    dirty: state.dirty.filter((hour) => Math.floor(hour / 24) > day),
    next_part: state.next_part + parts.length,
    dropped: { ...state.dropped, expired: state.dropped.expired + gone },
    // This number includes one row of visitors per target and all deleted rows, including old ledger entries.
    written: addWritten(state, 2 * parts.length + targets + rows + expired.rows + gone + 6, now),
  };
  return advance(run, next, [
    // Delete rows first. If the database is full, the parts need this space.
    ...deleteExpired(db, expired),
    ...parts,
    ...clearStatements(db, day, now),
    clearLedger(db, day),
  ]);
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
