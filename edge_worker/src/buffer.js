/**
 * Buffers events in the isolate, for a short window and while a write is under way, and writes them in batches: each is
 * appended to the minute's row of the event log. A batch is named by a random id that the row remembers, so that a
 * write made twice (its answer was lost) adds nothing the second time.
 *
 * The platform may end a request with all its work at any await: nothing is held by a request alone. Whatever is not
 * yet in the database is in `events` or in `batches`, and a request that promised to write and did not is replaced.
 */

import { keepsDetail, windowMs } from "./budget.js";
import { closeLine, encodeDrops, encodeEvent, firstIdAt, newWriteName } from "./event_log.js";
import { addDropped, countEvent, dropEvent, encodeTally } from "./ledger.js";
import { noneDropped } from "./state.js";
import { DAY_MS, MINUTE_MS, SECOND_MS, dayOf } from "./time.js";
import { DayClosed, saltOfDay, visitorHash } from "./visitors.js";

/** A row of this many characters is full: appending copies it. Under 2 MB with what isolates add meanwhile. */
const ROW_CHARS = 64_000;

/** With this many events the buffer is written before the window ends: about 3 ms of CPU. */
const FLUSH_EVENTS = 400;

/** Most characters of a batch: two usual flushes. */
const BATCH_CHARS = 200_000;

/** Events held while the database does not take them: about 4 MB, 10 MB of the longest; more are dropped. */
const MOST_HELD = 8_000;

const RETRY_AFTER_MS = 300;

/** Pauses before a failed flush is repeated; after the last one the next event triggers a flush. */
const FLUSH_PAUSES_MS = [1 * SECOND_MS, 4 * SECOND_MS];

/** How long a flush waits for the write before it. */
const WAIT_FOR_WRITE_MS = 5 * SECOND_MS;

/** A request that has not begun to write this long after it should have was ended; the next event arms another one. */
const ARMED_GRACE_MS = WAIT_FOR_WRITE_MS + 1 * SECOND_MS;

/** A write that has no answer after this long counts as lost, and is repeated under its own name. */
const WRITE_LOST_MS = 15 * SECOND_MS;

/** How long to wait for the next try once the platform's daily limit is reached. */
const LIMITED_MS = MINUTE_MS;

/** The level whose window is used when only drops are to be written. */
const DROPS_LEVEL = 3;

/** D1's text for a value of more than 2 MB. */
const TOO_BIG = "SQLITE_TOOBIG";

/**
 * @typedef {import("./event_log.js").OpenLine & {day: number, target: string, reason: string, ip: string, ua: string}}
 *   Waiting an event whose visitor's hash is not made yet, with what it is made of; it exists in memory only
 * @typedef {object} Batch
 * @property {string} name of its write
 * @property {number} n its events
 * @property {Waiting[] | null} events null: they are in `lines`
 * @property {string} lines @property {string} drops
 * @property {import("./ledger.js").Tally} accepted what is in `lines`
 * @property {import("./ledger.js").Tally} dropped what became of events that are not
 * @property {string} tally both, as it is written
 * @property {number} id of the row of the event log that it was last written to
 * @property {number} tries how often it was written; a try without an answer may still be carried out
 * @property {number} triesBefore how many of these were of other rows, and are known to have stored nothing
 * @property {number} triedAt epoch ms; 0 for a try that failed
 * @typedef {{db: D1Database, level: number}} Sink where to write, and the write budget's level
 */

export class EventBuffer {
  /** @type {Waiting[]} */
  events = [];
  /** @type {{until: number} | null} the request that will write what is in `events`, before that time (epoch ms) */
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
  /** @type {import("./ledger.js").Tally} the same for the ledger: of events only, by target and day */
  droppedEvents = new Map();

  /** Events not yet confirmed by the database. */
  get held() {
    return this.events.length + this.batches.reduce((sum, { n }) => sum + n, 0);
  }
}

/**
 * @param {EventBuffer} buffer
 * @param {import("./event_log.js").Event} event
 * @param {{ip: string, ua: string}} visitor
 * @param {Sink} sink
 * @returns {Promise<void> | undefined} for waitUntil; undefined: another request will write this event
 */
export function record(buffer, event, { ip, ua }, sink) {
  const { target, hour, reason } = event;
  const day = Math.floor(hour / 24);
  if (buffer.events.length >= FLUSH_EVENTS && buffer.held >= MOST_HELD) {
    const why = Date.now() < buffer.limitedUntil ? "budget" : "busy";
    dropEvent(buffer.droppedEvents, why, { target, day, reason });
    return noteDrop(buffer, why, sink);
  }
  // Encoded here and not in the flush: what an event costs is paid by its own request.
  const withDetail = keepsDetail(sink.level);
  const { head, tail } = encodeEvent(event, withDetail);
  if (!withDetail && reason === "") buffer.dropped.budget += 1;
  buffer.events.push({ head, tail, day, target, reason, ip, ua });
  if (buffer.events.length % FLUSH_EVENTS === 0) return flushAll(buffer, sink);
  return arm(buffer, sink, windowMs(sink.level));
}

/**
 * Notes what is no event, and not counted.
 * @param {EventBuffer} buffer
 * @param {import("./state.js").DropReason} reason
 * @param {Sink} sink
 * @returns {Promise<void> | undefined} for waitUntil
 */
export function recordDrop(buffer, reason, sink) {
  countEvent(buffer.droppedEvents, reason, { target: "", day: dayOf(Date.now()), reason: "" });
  return noteDrop(buffer, reason, sink);
}

/** @param {EventBuffer} buffer @param {import("./state.js").DropReason} reason @param {Sink} sink */
function noteDrop(buffer, reason, sink) {
  buffer.dropped[reason] += 1;
  return arm(buffer, sink, windowMs(DROPS_LEVEL));
}

/** @param {EventBuffer} buffer @param {Sink} sink @param {number} waitMs */
function arm(buffer, sink, waitMs) {
  if (buffer.armed !== null && Date.now() < buffer.armed.until) return undefined;
  const me = { until: Date.now() + waitMs + ARMED_GRACE_MS };
  buffer.armed = me;
  return flushAfter(buffer, me, sink, waitMs);
}

/** @param {EventBuffer} buffer @param {{until: number}} me @param {Sink} sink @param {number} waitMs */
async function flushAfter(buffer, me, sink, waitMs) {
  await scheduler.wait(waitMs);
  // Buffer on while a write is under way; a request that was ended in its write does not hold the others up.
  while (buffer.armed === me && Date.now() - buffer.writingSince < WAIT_FOR_WRITE_MS) await scheduler.wait(50);
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
    if (lost !== undefined && !(await writeBatch(buffer, lost, sink.db))) return;
    const batch = takeBatch(buffer);
    if (batch !== null) await writeBatch(buffer, batch, sink.db);
  } finally {
    buffer.writingSince = 0;
  }
}

/**
 * Puts the first of the events into a batch, which stays in `batches` until the database has it.
 * @param {EventBuffer} buffer @returns {Batch | null} null: there is nothing to write
 */
function takeBatch(buffer) {
  let n = 0;
  let chars = 0;
  for (const { head, tail } of buffer.events) {
    chars += head.length + tail.length;
    if (n === 2 * FLUSH_EVENTS || (n > 0 && chars > BATCH_CHARS)) break;
    n += 1;
  }
  const drops = encodeDrops(buffer.dropped);
  if (n === 0 && drops === "") return null;
  const batch = {
    name: newWriteName(),
    n,
    events: buffer.events.splice(0, n),
    lines: "",
    drops,
    accepted: new Map(),
    dropped: buffer.droppedEvents,
    tally: "",
    id: 0,
    tries: 0,
    triesBefore: 0,
    triedAt: Date.now(),
  };
  buffer.dropped = noneDropped();
  buffer.droppedEvents = new Map();
  buffer.batches.push(batch);
  return batch;
}

/**
 * @param {EventBuffer} buffer @param {Batch} batch @param {D1Database} db
 * @returns {Promise<boolean>} false: the database does not take it now; the batch is held
 */
async function writeBatch(buffer, batch, db) {
  batch.triedAt = Date.now();
  for (let attempt = 1; ; attempt += 1) {
    try {
      await encodeLines(buffer, batch, db);
      if (batch.lines !== "" || batch.drops !== "") await append(buffer, batch, db);
      else settle(buffer, batch);
      return true;
    } catch (error) {
      console.warn(`events not written: ${String(error)}`);
      // The platform's text; the code that goes with it is not documented (platform docs: D1 limits).
      if (String(error).includes("daily row")) buffer.limitedUntil = Date.now() + LIMITED_MS;
      if (attempt === 2 || Date.now() < buffer.limitedUntil) {
        batch.triedAt = 0;
        return false;
      }
      await scheduler.wait(RETRY_AFTER_MS);
    }
  }
}

/**
 * Makes the lines of a batch: once, also when two requests are at it.
 * @param {EventBuffer} buffer @param {Batch} batch @param {D1Database} db
 * @throws {Error} the database does not give the salt
 */
async function encodeLines(buffer, batch, db) {
  if (batch.events === null) return;
  await fetchSalts(buffer, batch.events, db);
  const visitors = await hashesOf(buffer, batch.events);
  if (batch.events === null) return;
  let tooOld = 0;
  for (const [i, event] of batch.events.entries()) {
    const visitor = visitors[i];
    if (visitor === undefined) {
      tooOld += 1;
      dropEvent(batch.dropped, "too_old", event);
    } else {
      batch.lines += closeLine(event, visitor);
      countEvent(batch.accepted, "accepted", event);
    }
  }
  if (tooOld > 0) batch.drops += encodeDrops({ ...noneDropped(), too_old: tooOld });
  batch.n -= tooOld;
  batch.tally = encodeTally(batch.accepted) + encodeTally(batch.dropped);
  batch.events = null;
}

/**
 * @param {EventBuffer} buffer @param {Waiting[]} events
 * @returns {Promise<(string | undefined)[]>} for each event: "" for a bot, undefined when its day is closed
 */
async function hashesOf(buffer, events) {
  // Several events of one visitor are often written together: one hash for all.
  /** @type {Map<string, Promise<string>>} */
  const making = new Map();
  const names = events.map(({ day, target, reason, ip, ua }) => {
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

/** @param {EventBuffer} buffer @param {Waiting[]} events @param {D1Database} db */
async function fetchSalts(buffer, events, db) {
  for (const day of new Set(events.map((event) => event.day))) {
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

// An id that is sorted takes nothing more, and a write that the row remembers is not repeated: no row comes back then.
const APPEND =
  "insert into event_log(id, lines, writes, drops, tally) select ?1, ?2, ?3, ?4, ?5 " +
  "where ?1 > coalesce((select value ->> 'sorted' from meta where key = 'state'), 0) " +
  "on conflict(id) do update set lines = lines || excluded.lines, writes = writes || excluded.writes, " +
  "drops = drops || excluded.drops, tally = tally || excluded.tally where instr(event_log.writes, excluded.writes) = 0 " +
  "returning length(lines) as chars";

/** Nothing is left to do for the batch. @param {EventBuffer} buffer @param {Batch} batch */
function settle(buffer, batch) {
  buffer.batches = buffer.batches.filter((other) => other !== batch);
}

/**
 * Writes a batch. Two requests may be at it, as a write without an answer counts as lost after a while: the database
 * may carry out their writes in any order. Both name the same row, which takes the batch once; where a row does not
 * take it, only the later one decides what follows.
 * @param {EventBuffer} buffer @param {Batch} batch @param {D1Database} db
 */
async function append(buffer, batch, db) {
  for (;;) {
    if (batch.tries === batch.triesBefore) batch.id = currentId(buffer);
    batch.tries += 1;
    const { id, tries } = batch;
    batch.triedAt = Date.now();
    /** @type {Record<string, unknown> | null} */
    let row = null;
    let isFull = false;
    try {
      row = await db.prepare(APPEND).bind(id, batch.lines, batch.name, batch.drops, batch.tally).first();
    } catch (error) {
      if (!String(error).includes(TOO_BIG)) throw error;
      isFull = true;
    }
    if (row !== null) {
      if (Number(row.chars) > ROW_CHARS && id === currentId(buffer)) buffer.logId += 1;
      return settle(buffer, batch);
    }
    if (isReplaced(buffer, batch, tries)) return undefined;
    if (isFull) {
      // Other isolates have filled the row: nothing of this batch is stored, nor was it before, nor will it be.
      moveOn(buffer, batch, id + 1);
    } else if (tries === batch.triesBefore + 1) {
      // Nothing of this batch is stored: its row was already sorted, as this machine's clock is slow.
      const sorted = await db.prepare("select value ->> 'sorted' as id from meta where key = 'state'").first("id");
      if (isReplaced(buffer, batch, tries)) return undefined;
      moveOn(buffer, batch, Number(sorted) + 1);
    } else {
      const held = await db
        .prepare("select instr(writes, ?2) as held from event_log where id = ?1")
        .bind(id, batch.name)
        .first("held");
      if (isReplaced(buffer, batch, tries)) return undefined;
      // The row was sorted meanwhile: whether an earlier try was in it is unknown, and nothing may count twice.
      if (held === null || held === 0) {
        buffer.dropped.busy += batch.n;
        for (const events of batch.accepted.values()) addDropped(buffer.droppedEvents, "busy", events);
      }
      return settle(buffer, batch);
    }
  }
}

/**
 * @param {EventBuffer} buffer @param {Batch} batch @param {number} tries when the asking request wrote it
 * @returns {boolean} another request has written the batch since, or is at it, and decides what becomes of it
 */
const isReplaced = (buffer, batch, tries) => batch.tries !== tries || !buffer.batches.includes(batch);

/** Lets the next try take another row. @param {EventBuffer} buffer @param {Batch} batch @param {number} id its least */
function moveOn(buffer, batch, id) {
  buffer.logId = Math.max(buffer.logId, id);
  batch.triesBefore = batch.tries;
}

/** @param {EventBuffer} buffer @returns {number} id of the row of this minute, or a later one that was moved on to */
function currentId(buffer) {
  buffer.logId = Math.max(buffer.logId, firstIdAt(Date.now()));
  return buffer.logId;
}
