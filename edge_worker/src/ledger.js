/**
 * The ledger records what happened to the events of each UTC day, by target (site or link). Its counts do not depend on
 * the folds, which add events to the totals, so the totals can be checked against the ledger. Events are counted when
 * they are accepted: the statement that stores their lines also stores these counts. Acknowledged and dropped events
 * are recorded in the database batch that processes them. This module defines the formats of the column `tally` and the
 * table `ledger`, and their statements.
 */

import { isOutside } from "./link_period.js";
import { PARTS_KEPT_DAYS } from "./outbox.js";

/**
 * @typedef {import("./state.js").DropReason} DropReason
 * @typedef {"accepted" | DropReason} Entry accepted: all events that the Worker received, including dropped events
 * @typedef {{target: string, day: number, entry: Entry, views: number, bots: number}} Count day: epoch day; target: ""
 *   for all targets that are not counted individually
 * @typedef {Map<string, Count>} Tally
 */

/** When a tally has this many entries (about 50 kB), the dropped events of further targets share one count. */
const MAX_DROPPED = 500;

/**
 * Maximum size of a day's counts (about 45,000 targets), below Cloudflare's limit of 2 MB per value. When this size is
 * reached, the counts no longer change.
 */
const COUNTS_CHARS = 1_900_000;

/**
 * Counts one event. A click outside of a link's period is neither a view nor a bot, so the ledger does not count it.
 * @param {Tally} tally updated in place
 * @param {Entry} entry
 * @param {{target: string, day: number, reason: string}} event reason: "" for a view
 */
export function countEvent(tally, entry, { target, day, reason }) {
  if (!isOutside(reason)) addCount(tally, { target, day, entry, ...viewOrBot(reason) });
}

/**
 * Counts one received event as dropped, unless it is a click outside of a link's period.
 * @param {Tally} tally updated in place
 * @param {DropReason} why
 * @param {{target: string, day: number, reason: string}} event reason: "" for a view
 */
export function dropEvent(tally, why, { target, day, reason }) {
  if (!isOutside(reason)) addDropped(tally, why, { target, day, ...viewOrBot(reason) });
}

/** @param {string} reason the bot reason, "" for a person */
const viewOrBot = (reason) => (reason === "" ? { views: 1, bots: 0 } : { views: 0, bots: 1 });

/**
 * Counts several received events as dropped.
 * @param {Tally} tally updated in place
 * @param {DropReason} why
 * @param {Omit<Count, "entry">} events
 */
export function addDropped(tally, why, { target, day, views, bots }) {
  const name = tally.size < MAX_DROPPED || tally.has(keyOf("accepted", target, day)) ? target : "";
  addCount(tally, { target: name, day, entry: "accepted", views, bots });
  addCount(tally, { target: name, day, entry: why, views, bots });
}

/** @param {Entry} entry @param {string} target @param {number} day */
const keyOf = (entry, target, day) => `${target} ${day} ${entry}`;

/** @param {Tally} tally updated in place @param {Count} count */
function addCount(tally, count) {
  const key = keyOf(count.entry, count.target, count.day);
  const known = tally.get(key);
  if (known === undefined) {
    tally.set(key, { ...count });
  } else {
    known.views += count.views;
    known.bots += count.bots;
  }
}

/** @param {Tally} tally updated in place @param {Tally} added */
export function addTally(tally, added) {
  for (const count of added.values()) addCount(tally, count);
}

/** @param {Tally} tally @returns {string} lines of [target, epoch day, views, bots], and the entry unless `accepted` */
export function encodeTally(tally) {
  let text = "";
  for (const { target, day, entry, views, bots } of tally.values()) {
    text += `["${target}",${day},${views},${bots}${entry === "accepted" ? "" : `,"${entry}"`}]\n`;
  }
  return text;
}

/**
 * The `on conflict` clause of an insert into the ledger. It merges the new counts with the stored ones.
 * @param {"total" | "max"} how
 */
const merged = (how) =>
  "on conflict(day, entry) do update set counts = " +
  // Invalid stored counts are overwritten, because the cron job would otherwise fail permanently.
  "case when case when json_valid(ledger.counts) then json_type(ledger.counts) end = 'object' then " +
  `(select case when length(whole) < ${COUNTS_CHARS} then whole else ledger.counts end from (` +
  "select json_group_object(target, json_array(views, bots)) as whole from (" +
  // Another program may have written very large integers. `sum` would then fail with an overflow in every run, but
  // `total` returns a floating-point number.
  `select one.key as target, cast(${how}(one.value ->> 0) as integer) as views, ` +
  `cast(${how}(one.value ->> 1) as integer) as bots ` +
  // Do not use `union`, because the firewall of Cloudflare's API takes it for an attack and rejects the upload.
  "from json_each(json_array(json(ledger.counts), json(excluded.counts))) lists, json_each(lists.value) one " +
  "where one.type = 'array' group by one.key))) else excluded.counts end";

const ENTRIES = "'[' || replace(substr(tally, 1, length(tally) - 1), char(10), ',') || ']'";

const ADD_TALLIES =
  "insert into ledger(day, entry, counts) select day, entry, json_group_object(target, json_array(views, bots)) from (" +
  "select e.value ->> 1 as day, coalesce(e.value ->> 4, 'accepted') as entry, e.value ->> 0 as target, " +
  "cast(total(e.value ->> 2) as integer) as views, cast(total(e.value ->> 3) as integer) as bots " +
  `from event_log, json_each(${ENTRIES}) e where event_log.id <= ?1 and tally <> '' and json_valid(${ENTRIES}) ` +
  "and e.type = 'array' and typeof(e.value ->> 0) = 'text' and typeof(e.value ->> 1) = 'integer' group by 1, 2, 3) " +
  `where true group by day, entry ${merged("total")}`;

/**
 * @param {D1Database} db @param {number} last
 * @returns {D1PreparedStatement} a statement that adds the tallies of the event log's rows up to `last`
 */
export const addTallies = (db, last) => db.prepare(ADD_TALLIES).bind(last);

const ADD_LATE =
  "insert into ledger(day, entry, counts) select value ->> 0, 'too_old', value -> '$[1]' from json_each(?1) " +
  `where true ${merged("total")}`;

/**
 * @param {D1Database} db
 * @param {Tally} late events that a fold dropped because their day was closed
 * @returns {D1PreparedStatement[]} at most one statement
 */
export function addLate(db, late) {
  if (late.size === 0) return [];
  /** @type {Map<number, Record<string, [number, number]>>} */
  const days = new Map();
  for (const { target, day, views, bots } of late.values()) {
    const counts = days.get(day) ?? {};
    counts[target] = [views, bots];
    days.set(day, counts);
  }
  return [db.prepare(ADD_LATE).bind(JSON.stringify([...days]))];
}

// A part may not be valid JSON if another program has written it. The service rejects such a part. The ledger ignores
// its numbers, and the part is removed from the outbox like all others.
const OURS = "case when json_valid(part) then part else '{}' end";
const ROW = "case when one.type = 'array' then one.value end";

// The numbers in a part are totals of a day, and only grow. The largest number is therefore the newest, even if parts
// arrive twice or late. Parameters: ?1 ids of the parts that leave the outbox, ?2 ids of the parts that the service
// accepted, ?3 ids of the targets that the service does not know.
const ADD_PUSHED =
  "insert into ledger(day, entry, counts) select day, entry, json_group_object(target, json_array(views, bots)) from (" +
  `select unixepoch(${OURS} ->> 'day') / 86400 as day, ` +
  `case when ${ROW} ->> 0 in (select value from json_each(?3)) then 'unknown_target' ` +
  "when outbox.id in (select value from json_each(?2)) then 'pushed' else 'refused' end as entry, " +
  `${ROW} ->> 0 as target, max(${ROW} ->> 1) as views, max(${ROW} ->> 2) as bots ` +
  `from outbox, json_each(${OURS}, '$.days') one ` +
  "where outbox.id in (select value from json_each(?1)) group by 1, 2, 3) " +
  `where day is not null and typeof(target) = 'text' group by day, entry ${merged("max")}`;

/**
 * @param {D1Database} db
 * @param {{gone: number[], accepted: number[], unknown: string[]}} answered gone, accepted: ids of parts; unknown: ids
 *   of targets that the service does not know
 * @returns {D1PreparedStatement[]} at most one statement, which must run before the parts are deleted
 */
export function addPushed(db, { gone, accepted, unknown }) {
  if (gone.length === 0) return [];
  return [db.prepare(ADD_PUSHED).bind(...[gone, accepted, unknown].map((ids) => JSON.stringify(ids)))];
}

/** @param {D1Database} db @param {number} day epoch day that is closed @returns {D1PreparedStatement} */
export function clearLedger(db, day) {
  // The ledger and the outbox are kept for the same time, so the ledger still contains a day when the last parts of
  // this day expire.
  return db.prepare("delete from ledger where day <= ?").bind(day - PARTS_KEPT_DAYS);
}
