/**
 * Closes hours and days that have ended: writes their totals to the outbox. A cron run closes an hour or day only when
 * all its events are folded, which means added to the totals of days and hours.
 */

import { keepsHours, mayEndDays, rowsForEndedDays } from "./budget.js";
import { firstIdAt } from "./event_log.js";
import { SETTLED_MS } from "./event_pages.js";
import { deleteExpired, isNearlyFull, oldestStatement, readExpired } from "./kept_days.js";
import { clearLedger } from "./ledger.js";
import { PARTS_KEPT_MS, clearStatements, partStatements } from "./outbox.js";
import { deleteClosedHours, readClosedHours } from "./rows.js";
import { HOUR_GRACE_MS, advance, currentLevel, endOfDay, hourToClose } from "./run.js";
import { addWritten } from "./state.js";
import { DAY_MS, HOUR_MS, MINUTE_MS, dayOf } from "./time.js";

/** A day is closed only after this grace period, so that writes still count if an outage at midnight delays them. */
const DAY_GRACE_MS = 9 * MINUTE_MS;

/**
 * If the database was not available at midnight, a day is closed only after this grace period, which begins with the
 * first run after the outage. Isolates write the events that they still hold within this time.
 */
const HELD_GRACE_MS = 3 * MINUTE_MS;

/** Hours of closed days are deleted only if at least this many rows can be deleted. Each attempt scans the table. */
const MIN_DELETED_ROWS = 1_000;

/** @typedef {import("./run.js").Run} Run */

/**
 * Returns the time until which the oldest open day accepts events.
 * @param {import("./state.js").State} state @returns {number} epoch ms
 */
const acceptsUntil = ({ day, day_ended_at }) =>
  Math.max(endOfDay(day + 1) + DAY_GRACE_MS, day_ended_at + HELD_GRACE_MS);

/**
 * @param {Run} run @returns {number} id of the first event log row that is not folded; 0 while there are pages, because
 *   they can contain events of any hour
 */
const firstUnfolded = ({ pages, waiting }) => (pages > 0 ? 0 : waiting.first);

/** @param {Run} run @returns {boolean} true if the oldest open day has ended, and some of its events are not sorted */
export const hasEventsOfEndedDay = ({ state, waiting, now }) =>
  now >= endOfDay(state.day + 1) && waiting.first < firstIdAt(acceptsUntil(state));

/** @param {Run} run @returns {boolean} true if the oldest open day can be closed now */
export function isDayDue(run) {
  const { state, now } = run;
  const until = acceptsUntil(state);
  const hasEnded = state.day_ended_at >= endOfDay(state.day + 1) && now >= until + SETTLED_MS;
  return hasEnded && firstUnfolded(run) >= firstIdAt(until) && mayEndDays(currentLevel(run));
}

/**
 * Closes one day, or the hours of one day, when all their events are folded.
 * @param {Run} run
 * @returns {Promise<boolean>} false if another run has changed the state
 */
export async function close(run) {
  const { state, now } = run;
  if (isDayDue(run)) return closeDay(run, state.day + 1);
  const until = Math.min(hourToClose(now), (dayOf(state.hour * HOUR_MS) + 1) * 24);
  if (until <= state.hour) return true;
  if (firstUnfolded(run) >= firstIdAt(until * HOUR_MS + HOUR_GRACE_MS)) return closeHours(run, until);
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
 * Closes the hours before `until` without sending their totals, because too little of the write budget remains. Events
 * of these hours that are not folded yet stay in the event log until the day has ended. They are then added to the row
 * of the day's first refused hour.
 * @param {Run} run @param {number} until
 */
async function refuseHours(run, until) {
  const { db, now, state } = run;
  const day = Math.floor((until - 1) / 24);
  const epochHours = Array.from({ length: until - state.hour }, (_, i) => state.hour + i);
  const refused = epochHours.map((hour) => hour % 24);
  const last = Math.max(-1, Math.floor((state.as_of - day * DAY_MS) / HOUR_MS) - 1);
  const parts = partStatements(db, { day, hours: [], refused, last, final: false, targets: 0 }, state.next_part, now);
  const next = {
    ...state,
    hour: until,
    dirty: state.dirty.filter((hour) => !epochHours.includes(hour)),
    refused: [...state.refused, ...epochHours],
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
    db.prepare("select count(distinct target) as targets from hour where day = ?").bind(day),
    db.prepare("select count(*) as n from outbox where made_at < ?").bind(now - PARTS_KEPT_MS),
    oldestStatement(db, day),
  ]);
  const { targets = 0 } = /** @type {{targets?: number}} */ (counts?.results[0] ?? {});
  const hours = state.dirty.filter((hour) => Math.floor(hour / 24) === day).map((hour) => hour % 24);
  const closing = { day, hours, refused: [], last: 23, final: true, targets };
  const parts = partStatements(db, closing, state.next_part, now);
  const gone = Number(/** @type {{n: number} | undefined} */ (givenUp?.results[0])?.n ?? 0);
  // This number includes one row of visitors per target, old ledger entries, and two rows per part: each part is
  // written once, and deleted later.
  const written = addWritten(state, run.waiting.writes, now).rows;
  const rows = 2 * parts.length + targets + gone + 6;
  const isFull = isNearlyFull(Number(counts?.meta.size_after));
  let expired = readExpired(settings, oldest, day, state, isFull);
  if (!isFull && written + rows + expired.rows > rowsForEndedDays(settings)) {
    expired = readExpired(settings, undefined, day, state, isFull);
  }
  const next = {
    ...state,
    day,
    kept_from: expired.keptFrom,
    months: expired.months,
    hour: Math.max(state.hour, (day + 1) * 24),
    as_of: Math.max(state.as_of, (day + 1) * DAY_MS),
    dirty: state.dirty.filter((hour) => Math.floor(hour / 24) > day),
    refused: state.refused.filter((hour) => Math.floor(hour / 24) > day),
    closed_hours: state.closed_hours || targets > 0,
    next_part: state.next_part + parts.length,
    dropped: { ...state.dropped, expired: state.dropped.expired + gone },
    written: addWritten(state, rows + expired.rows, now),
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
 * Deletes hours of closed days, as far as the write budget allows. The remaining rows are deleted on a later day.
 * @param {Run} run
 * @returns {Promise<boolean>} false if another run has changed the state
 */
export async function clearHours(run) {
  const { db, now, state, settings, waiting } = run;
  // Closing a day needs most of the 50 queries that a run can make (Cloudflare docs: D1 limits, free plan).
  if (!state.closed_hours || isDayDue(run)) return true;
  const most = rowsForEndedDays(settings) - addWritten(state, waiting.writes, now).rows;
  if (most < MIN_DELETED_ROWS) return true;
  const rows = await readClosedHours(db, state.day, most);
  const next = { ...state, closed_hours: rows === most, written: addWritten(state, rows + 1, now) };
  return advance(run, next, [deleteClosedHours(db, state.day, most)]);
}
