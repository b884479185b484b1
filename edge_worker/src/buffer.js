/**
 * Buffers events in the isolate, for a short window and while a write is under way, and writes them in batches: each is
 * appended to the minute's row of the event log. A batch is named by a random id that the row remembers, so that a
 * write made twice (its answer was lost) adds nothing the second time.
 */

import { keepsDetail, windowMs } from "./budget.js";
import { encodeDrops, encodeEvent, firstIdAt, newWriteName } from "./event_log.js";
import { noneDropped } from "./state.js";
import { DAY_MS, MINUTE_MS, SECOND_MS } from "./time.js";
import { DayClosed, saltOfDay, visitorHash } from "./visitors.js";

/** A row of this many characters is full: appending copies it. Under 2 MB with what isolates add meanwhile. */
const ROW_CHARS = 64_000;

/** With this many events the buffer is written before the window ends: about 3 ms of CPU. */
const FLUSH_EVENTS = 400;

/** Events held while the database does not take them (about 4 MB); more are dropped. */
const MOST_HELD = 8_000;

const RETRY_AFTER_MS = 300;

/** Pauses before a failed flush is repeated; after the last one the next event triggers a flush. */
const FLUSH_PAUSES_MS = [1 * SECOND_MS, 4 * SECOND_MS];

/** A write that has no answer after this long counts as lost, and is repeated under its own name. */
const WRITE_LOST_MS = 15 * SECOND_MS;

/** How long to wait for the next try once the platform's daily limit is reached. */
const LIMITED_MS = MINUTE_MS;

/** The level whose window is used when only drops are to be written. */
const DROPS_LEVEL = 3;

/**
 * @typedef {import("./event_log.js").Event & {ip: string, ua: string}} Seen an event with what its visitor's hash is
 *   made of; it exists in memory only
 * @typedef {{id: number, name: string, lines: string, drops: string, n: number, tried: boolean, triedAt: number}} Batch
 *   id: of the row of the event log
 * @typedef {{db: D1Database, level: number}} Sink where to write, and the write budget's level
 */

export class EventBuffer {
  /** @type {Seen[]} */
  events = [];
  /** @type {object | null} the request that will write what is in `events` */
  armed = null;
  /** @type {Batch[]} being written, or written without an answer */
  batches = [];
  writingSince = 0;
  /** id of the row of the event log that is written to, or was */
  logId = 0;
  limitedUntil = 0;
  /** @type {Map<number, CryptoKey>} by epoch day */
  salts = new Map();
  dropped = noneDropped();

  /** Events not yet confirmed by the database. */
  get held() {
    return this.events.length + this.batches.reduce((sum, { n }) => sum + n, 0);
  }
}

/**
 * @param {EventBuffer} buffer
 * @param {Seen} event
 * @param {Sink} sink
 * @returns {Promise<void> | undefined} for waitUntil; undefined: another request will write this event
 */
export function record(buffer, event, sink) {
  if (buffer.events.length >= FLUSH_EVENTS && buffer.held >= MOST_HELD) {
    return recordDrop(buffer, Date.now() < buffer.limitedUntil ? "budget" : "busy", sink);
  }
  buffer.events.push(event);
  if (buffer.events.length % FLUSH_EVENTS === 0) return flushAll(buffer, sink);
  return arm(buffer, sink, windowMs(sink.level));
}

/**
 * @param {EventBuffer} buffer
 * @param {import("./state.js").DropReason} reason
 * @param {Sink} sink
 * @returns {Promise<void> | undefined} for waitUntil
 */
export function recordDrop(buffer, reason, sink) {
  buffer.dropped[reason] += 1;
  return arm(buffer, sink, windowMs(DROPS_LEVEL));
}

/** @param {EventBuffer} buffer @param {Sink} sink @param {number} waitMs */
function arm(buffer, sink, waitMs) {
  if (buffer.armed !== null) return undefined;
  const me = {};
  buffer.armed = me;
  return flushAfter(buffer, me, sink, waitMs);
}

/** @param {EventBuffer} buffer @param {object} me @param {Sink} sink @param {number} waitMs */
async function flushAfter(buffer, me, sink, waitMs) {
  await scheduler.wait(waitMs);
  // Buffer on while a write is under way; a request that was cancelled in its write does not hold the others up.
  while (buffer.armed === me && Date.now() - buffer.writingSince < 5 * SECOND_MS) await scheduler.wait(50);
  if (buffer.armed === me) await flushAll(buffer, sink);
}

/**
 * Flushes, and repeats what fails in a short outage of the database: the next event may come a long time later.
 * @param {EventBuffer} buffer @param {Sink} sink
 */
async function flushAll(buffer, sink) {
  await flush(buffer, sink);
  for (const pauseMs of FLUSH_PAUSES_MS) {
    if (buffer.held === 0 || buffer.armed !== null || Date.now() < buffer.limitedUntil) return;
    await scheduler.wait(pauseMs);
    if (buffer.armed === null) await flush(buffer, sink);
  }
}

/** @param {EventBuffer} buffer @param {Sink} sink */
async function flush(buffer, sink) {
  buffer.armed = null;
  if (Date.now() < buffer.limitedUntil) return;
  buffer.writingSince = Date.now();
  try {
    const lost = buffer.batches.find(({ triedAt }) => Date.now() - triedAt >= WRITE_LOST_MS);
    if (lost !== undefined && !(await write(buffer, lost, sink.db))) return;
    const events = buffer.events.splice(0, 2 * FLUSH_EVENTS);
    const batch = await makeBatch(buffer, events, sink);
    if (batch === null) return;
    buffer.batches.push(batch);
    await write(buffer, batch, sink.db);
  } finally {
    buffer.writingSince = 0;
  }
}

/**
 * @param {EventBuffer} buffer @param {Seen[]} events @param {Sink} sink
 * @returns {Promise<Batch | null>} null: nothing to write, or no salt to be had now (the events are held)
 */
async function makeBatch(buffer, events, { db, level }) {
  try {
    await fetchSalts(buffer, events, db);
  } catch (error) {
    buffer.events.unshift(...events);
    noteFailure(buffer, "no salt", error);
    return null;
  }
  const withDetail = keepsDetail(level);
  const visitors = await hashesOf(buffer, events);
  const lines = events.map((event, i) => {
    const visitor = visitors[i];
    return visitor === undefined ? "" : encodeEvent(event, visitor, withDetail);
  });
  const kept = lines.filter((line) => line !== "");
  buffer.dropped.too_old += events.length - kept.length;
  if (!withDetail) buffer.dropped.budget += kept.length;
  const drops = encodeDrops(buffer.dropped);
  buffer.dropped = noneDropped();
  if (kept.length === 0 && drops === "") return null;
  return {
    id: 0,
    name: newWriteName(),
    lines: kept.join(""),
    drops,
    n: kept.length,
    tried: false,
    triedAt: Date.now(),
  };
}

/**
 * @param {EventBuffer} buffer @param {Seen[]} events
 * @returns {Promise<(string | undefined)[]>} for each event: "" for a bot, undefined when its day is closed
 */
async function hashesOf(buffer, events) {
  // Several events of one visitor are often written together: one hash for all.
  /** @type {Map<string, Promise<string>>} */
  const making = new Map();
  const names = events.map(({ target, hour, reason, ip, ua }) => {
    const day = Math.floor(hour / 24);
    const key = buffer.salts.get(day);
    if (key === undefined) return undefined;
    if (reason !== "") return "";
    const name = `${day}|${target}|${ip}|${ua}`;
    if (!making.has(name)) making.set(name, visitorHash(key, target, ip, ua));
    return name;
  });
  const hashes = await Promise.all(making.values());
  const made = new Map([...making.keys()].map((name, i) => [name, hashes[i]]));
  return names.map((name) => (name === undefined || name === "" ? name : made.get(name)));
}

/** @param {EventBuffer} buffer @param {Seen[]} events @param {D1Database} db */
async function fetchSalts(buffer, events, db) {
  for (const day of new Set(events.map(({ hour }) => Math.floor(hour / 24)))) {
    if (buffer.salts.has(day)) continue;
    try {
      buffer.salts.set(day, await saltOfDay(db, day));
    } catch (error) {
      if (!(error instanceof DayClosed)) throw error;
    }
  }
  // A day's salt leaves the isolate's memory soon after the day, as it leaves the database.
  for (const day of buffer.salts.keys()) {
    if ((day + 1) * DAY_MS + 15 * MINUTE_MS < Date.now()) buffer.salts.delete(day);
  }
}

/** @param {EventBuffer} buffer @param {string} what @param {unknown} error */
function noteFailure(buffer, what, error) {
  console.warn(`${what}: ${String(error)}`);
  // The platform's text; the code that goes with it is not documented (platform docs: D1 limits).
  if (String(error).includes("daily row")) buffer.limitedUntil = Date.now() + LIMITED_MS;
}

/**
 * @param {EventBuffer} buffer @param {Batch} batch @param {D1Database} db
 * @returns {Promise<boolean>} false: the database does not take it now; the batch is held
 */
async function write(buffer, batch, db) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await append(buffer, batch, db);
      buffer.batches = buffer.batches.filter((other) => other !== batch);
      return true;
    } catch (error) {
      noteFailure(buffer, "events not written", error);
      if (attempt === 2 || Date.now() < buffer.limitedUntil) {
        batch.triedAt = 0;
        return false;
      }
      await scheduler.wait(RETRY_AFTER_MS);
    }
  }
}

// An id that is sorted takes nothing more, and a write that the row remembers is not repeated: no row comes back then.
const APPEND =
  "insert into event_log(id, lines, writes, drops) select ?1, ?2, ?3, ?4 " +
  "where ?1 > coalesce((select value ->> 'sorted' from meta where key = 'state'), 0) " +
  "on conflict(id) do update set lines = lines || excluded.lines, writes = writes || excluded.writes, " +
  "drops = drops || excluded.drops where instr(event_log.writes, excluded.writes) = 0 " +
  "returning length(lines) as chars";

/** @param {EventBuffer} buffer @param {Batch} batch @param {D1Database} db */
async function append(buffer, batch, db) {
  for (;;) {
    const again = batch.tried;
    if (!again) batch.id = currentId(buffer);
    batch.tried = true;
    batch.triedAt = Date.now();
    const row = await db.prepare(APPEND).bind(batch.id, batch.lines, batch.name, batch.drops).first();
    if (row !== null) {
      if (Number(row.chars) > ROW_CHARS && batch.id === currentId(buffer)) buffer.logId += 1;
      return;
    }
    if (again) {
      const held = await db
        .prepare("select instr(writes, ?2) as held from event_log where id = ?1")
        .bind(batch.id, batch.name)
        .first("held");
      // The row was sorted meanwhile: whether the first try was in it is unknown, and nothing may count twice.
      if (held === null || held === 0) buffer.dropped.busy += batch.n;
      return;
    }
    // Nothing of this batch is stored: its row was already sorted, as this machine's clock is slow. Use a later row.
    batch.tried = false;
    const sorted = await db.prepare("select value ->> 'sorted' as id from meta where key = 'state'").first("id");
    buffer.logId = Number(sorted) + 1;
  }
}

/** @param {EventBuffer} buffer @returns {number} id of the row of this minute, or a later one that was moved on to */
function currentId(buffer) {
  buffer.logId = Math.max(buffer.logId, firstIdAt(Date.now()));
  return buffer.logId;
}
