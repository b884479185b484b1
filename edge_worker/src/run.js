/** A run of the cron job: what it reads when it begins, and how it stores its changes. */

import { levelOf } from "./budget.js";
import { firstIdAt, minuteOf } from "./event_log.js";
import { SETTLED_MS, readWaiting, waitingStatement } from "./event_pages.js";
import { settingsOf } from "./settings.js";
import { addWritten, commit, readState } from "./state.js";
import { DAY_MS, HOUR_MS, MINUTE_MS, dayOf, hourOf } from "./time.js";
import vocabulary from "./vocabulary.json" with { type: "json" };

/** An hour is closed only after this grace period. Events are written within 30 s, or their write is retried. */
export const HOUR_GRACE_MS = 2 * MINUTE_MS;

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
export const hourToClose = (now) => hourOf(now - HOUR_GRACE_MS - SETTLED_MS);

/** @param {number} now @returns {number} the smallest event log id of this UTC day */
export const today = (now) => firstIdAt(dayOf(now) * DAY_MS);

/** @param {number} day epoch day @returns {number} epoch ms */
export const endOfDay = (day) => (day + 1) * DAY_MS;

/** @param {D1Database} db @param {number} now @returns {Promise<Run>} */
export async function begin(db, now) {
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
export async function advance(run, next, statements) {
  next.ran_at = run.now;
  const openEnd = endOfDay(next.day + 1);
  if (run.now >= openEnd && next.day_ended_at < openEnd) next.day_ended_at = run.now;
  // The first write of a new day resets the level.
  if (next.written.day !== run.state.written.day) next.level = levelOf(next.written.rows, run.settings);
  const text = await commit(run.db, run.text, next, statements);
  if (text === null) return false;
  run.text = text;
  run.state = next;
  return true;
}

/** @param {Run} run @returns {number} the current level of the write budget */
export function currentLevel({ state, settings, waiting, now }) {
  return levelOf(addWritten(state, waiting.writes, now).rows, settings);
}
