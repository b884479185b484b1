/**
 * The state of the cron job: one JSON row in `meta` with the key 'state'. Each change to folded data (the totals of
 * days and hours) is one D1 batch, which is a transaction (Cloudflare docs: D1 binding, batch). The batch first checks
 * that this row has not changed since its run read it. If another run has changed the row, the whole batch fails.
 * Crashed or concurrent runs therefore never count an event twice.
 */

import { newMonths, withoutDays } from "./months.js";
import { PARTS_KEPT_DAYS } from "./outbox.js";
import { HOUR_MS, dayOf, hourOf } from "./time.js";
import vocabulary from "./vocabulary.json" with { type: "json" };

/**
 * @typedef {keyof import("./vocabulary.json")["drop_reasons"]} DropReason
 * @typedef {Record<DropReason, number>} Dropped
 *
 * @typedef {"push" | "cron"} ErrorKind what failed: a push, or the rest of a cron run
 *
 * @typedef {object} PushState
 * @property {string} install id (INSTALL) of the last upload that the service confirmed
 * @property {number} next_at epoch ms of the next push
 * @property {number} fails number of consecutive failed pushes
 * @property {number} most_parts maximum number of parts per push, which a 413 response lowers
 * @property {string | null} error
 * @property {ErrorKind | null} [error_kind] missing in a state that an older Worker wrote
 * @property {string} tried id (INSTALL) of the last upload that tried to push
 *
 * @typedef {object} State
 * @property {number} sorted event log rows up to this id are sorted and deleted; a new row gets a larger id
 * @property {number} hour hours before this epoch hour are closed
 * @property {number} day days up to this epoch day are closed
 * @property {number} kept_from epoch day: the first day after the days that were deleted from `day` because of their
 *   age; 0 if none was deleted
 * @property {import("./months.js").MonthState} months which months are added up
 * @property {number} since epoch ms from which this database contains counts
 * @property {number} as_of epoch ms: end of the latest hour that was closed with its counts
 * @property {number[]} dirty epoch hours whose changed totals are not in the outbox yet
 * @property {number[]} refused epoch hours of open days whose totals are not sent because of the write budget
 * @property {boolean} closed_hours true if the table `hour` may contain rows of closed days, which are not needed
 * @property {number} day_ended_at epoch ms of the first recorded run after the end of the oldest open day; before this
 *   run, a time before the end of that day
 * @property {{day: number, rows: number}} written number of rows written on this UTC day, except in the unsorted part
 *   of the event log
 * @property {number} level of the write budget
 * @property {number} ran_at epoch ms of a recent run; the last run is at most RAN_EVERY_MS (cron.js) later
 * @property {number} next_part id of the next part of a push
 * @property {boolean} visit_lists true if a Worker that counts campaigns, entries, arrivals and targets has run here
 * @property {Dropped} dropped
 * @property {PushState} push
 */

const NONE_DROPPED = /** @type {Dropped} */ (
  Object.fromEntries(Object.keys(vocabulary.drop_reasons).map((reason) => [reason, 0]))
);

/** @returns {Dropped} */
export const noneDropped = () => ({ ...NONE_DROPPED });

/**
 * @param {string} text the row as stored; '{}' in a new database
 * @param {number} now epoch ms
 * @param {number} [since] epoch ms of the earliest possible event; default: now
 * @returns {State}
 */
export function readState(text, now, since = now) {
  /** @type {State} */
  const fresh = {
    sorted: 0,
    hour: hourOf(since),
    day: dayOf(since) - 1,
    kept_from: 0,
    since,
    as_of: hourOf(since) * HOUR_MS,
    dirty: [],
    refused: [],
    closed_hours: false,
    day_ended_at: 0,
    written: { day: dayOf(now), rows: 0 },
    level: 0,
    ran_at: 0,
    next_part: 1,
    visit_lists: true,
    months: newMonths(dayOf(since)),
    dropped: noneDropped(),
    push: { install: "", next_at: 0, fails: 0, most_parts: 20, error: null, error_kind: null, tried: "" },
  };
  const stored = /** @type {Partial<State>} */ (JSON.parse(text));
  if (stored.day !== undefined) fresh.months = firstMonths(stored.day, stored);
  const state = { ...fresh, ...stored };
  // If an older Worker has run here, for example after a rollback, it has deleted days that were not added up yet.
  return { ...state, months: withoutDays(state.months, state.kept_from) };
}

/**
 * Returns the first state of months in the database of an older Worker that did not add up months. The oldest Workers
 * kept 35 days, and did not record in `kept_from` which days they had deleted.
 * @param {number} closedDay @param {Partial<State>} stored
 */
function firstMonths(closedDay, { since = 0, kept_from = closedDay - PARTS_KEPT_DAYS }) {
  const first = dayOf(since);
  return kept_from > first ? withoutDays(newMonths(kept_from), kept_from) : newMonths(first);
}

/**
 * @param {State} state
 * @param {number} rows rows written (exact or an upper bound)
 * @param {number} now epoch ms
 * @returns {State["written"]}
 */
export function addWritten(state, rows, now) {
  const day = dayOf(now);
  return { day, rows: (state.written.day === day ? state.written.rows : 0) + rows };
}

/** @param {D1Database} db @param {string} seen the state's JSON as read */
function guard(db, seen) {
  // If the row has changed since this run read it, the insert violates the primary key. The batch is then rolled back.
  return db
    .prepare("insert into meta(key, value) select 'state', '' where (select value from meta where key = 'state') <> ?")
    .bind(seen);
}

/**
 * Returns a statement that fails the batch if `condition` holds.
 * @param {D1Database} db @param {string} condition SQL @param {unknown[]} values
 */
export function failWhen(db, condition, values) {
  return db.prepare(`insert into meta(key, value) select 'state', '' where ${condition}`).bind(...values);
}

/**
 * Executes `statements` and stores the new state in one transaction. If the stored state is no longer equal to `seen`,
 * nothing changes.
 * @param {D1Database} db
 * @param {string} seen
 * @param {State} next
 * @param {D1PreparedStatement[]} statements
 * @returns {Promise<string | null>} the new state as JSON; null if another run (or a late flush) has changed the data
 */
export async function commit(db, seen, next, statements) {
  const text = JSON.stringify(next);
  try {
    await db.batch([
      guard(db, seen),
      ...statements,
      db.prepare("update meta set value = ? where key = 'state'").bind(text),
    ]);
  } catch (error) {
    if (String(error).includes("UNIQUE constraint failed: meta")) return null;
    throw error;
  }
  return text;
}
