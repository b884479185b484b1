/**
 * Buffers events in the isolate, a running instance of the Worker, and writes them in batches. A batch is written a
 * short time (the window) after its first event, or later if the previous write is still in progress. Each batch is
 * appended to the current minute's row of the event log. The row also stores the batch's random name, so that a write
 * that is repeated after a lost response has no effect.
 *
 * Cloudflare can cancel a request and all its work at any await, so no event may depend on a single request. Events
 * that are not in the database yet are in `events` or `batches`. If one request fails to write them, the next request
 * tries again.
 */

import { keepsDetail, windowMs } from "./budget.js";
import { addDrops, closeLine, encodeDrops, encodeEvent, firstIdAt, newWriteName } from "./event_log.js";
import { addDropped, addTally, countEvent, dropEvent, encodeTally } from "./ledger.js";
import { noneDropped } from "./state.js";
import { MINUTE_MS, SECOND_MS, dayOf } from "./time.js";
import { hashesOf, saltsOf } from "./visitors.js";

/**
 * Size at which a row counts as full. It is small because each append copies the row, and because concurrent writes can
 * exceed it: the row must still stay below Cloudflare's limit of 2 MB.
 */
const ROW_CHARS = 64_000;

/**
 * If this many events are buffered, they are written before the window ends. Writing them takes about 3 ms of CPU time.
 */
const FLUSH_EVENTS = 400;

/** Maximum size of a batch, about twice that of a typical flush. */
const BATCH_CHARS = 200_000;

/**
 * When an isolate holds this many events (about 4 MB, at most 10 MB) that the database has not confirmed, and at least
 * FLUSH_EVENTS of them are not in a batch yet, further events are dropped.
 */
const MAX_HELD = 8_000;

const RETRY_AFTER_MS = 300;

/** Pauses before retries of a failed flush. After the last retry, the next event starts a flush. */
const FLUSH_PAUSES_MS = [1 * SECOND_MS, 4 * SECOND_MS];

/** Maximum time that a flush waits for the previous write. */
const WAIT_FOR_WRITE_MS = 5 * SECOND_MS;

/**
 * If a request has not begun its write this long after the end of its window, the request counts as canceled. The
 * request of the next event then writes the events.
 */
const ARMED_GRACE_MS = WAIT_FOR_WRITE_MS + 1 * SECOND_MS;

/** A write that has no response after this time counts as lost. It is repeated under the same name. */
const WRITE_LOST_MS = 15 * SECOND_MS;

/** Pause before the next attempt after Cloudflare's daily limit was reached. */
const LIMITED_MS = MINUTE_MS;

/** The level (budget.js) that sets the delay of a flush that contains only counts of dropped requests. */
const DROPS_LEVEL = 3;

/** D1's error text for a value of more than 2 MB. */
const TOO_BIG = "SQLITE_TOOBIG";

/**
 * Part of D1's error text after the account's daily limit was reached. Cloudflare documents this text, but no error
 * code (Cloudflare docs: D1 limits).
 */
const LIMIT_REACHED = "daily row";

/**
 * @typedef {import("./event_log.js").OpenLine & import("./visitors.js").Visit} Waiting an event without its hash
 * @typedef {object} Batch
 * @property {string} name of the batch's write
 * @property {number} n number of events
 * @property {Waiting[] | null} events null when they are encoded in `lines`
 * @property {string} lines @property {string} drops
 * @property {import("./ledger.js").Tally} accepted counts of the events in `lines`
 * @property {import("./ledger.js").Tally} dropped counts of the events that are not in `lines`
 * @property {string} tally both tallies, encoded
 * @property {number} id of the event log row used in the last attempt
 * @property {number} tries number of attempts; the database may still execute an attempt that got no response
 * @property {number} triesBefore number of attempts with earlier rows; these attempts are known to have stored nothing
 * @property {number} triedAt epoch ms of the last attempt; 0 after it failed
 * @typedef {{db: D1Database, level: number}} Sink the database to write to, and the write budget's level
 */

export class EventBuffer {
  /** @type {Waiting[]} */
  events = [];
  /** @type {{until: number} | null} the request that will write `events` before `until` (epoch ms) */
  armed = null;
  /** @type {Batch[]} batches that are being written, or whose write failed or got no response */
  batches = [];
  writingSince = 0;
  /** id of the current or last row of the event log */
  logId = 0;
  limitedUntil = 0;
  /** @type {Map<number, CryptoKey>} by epoch day */
  salts = new Map();
  dropped = noneDropped();
  /** @type {import("./ledger.js").Tally} dropped events for the ledger, by target and day */
  droppedEvents = new Map();

  /** Number of events that the database has not confirmed yet. */
  get held() {
    return this.events.length + this.batches.reduce((sum, { n }) => sum + n, 0);
  }
}

/**
 * @param {EventBuffer} buffer
 * @param {import("./event_log.js").Event} event
 * @param {{ip: string, ua: string}} visitor
 * @param {Sink} sink
 * @returns {Promise<void> | undefined} for waitUntil; undefined if another request will write this event
 */
export function record(buffer, event, { ip, ua }, sink) {
  const { target, hour, reason } = event;
  const day = Math.floor(hour / 24);
  if (buffer.events.length >= FLUSH_EVENTS && buffer.held >= MAX_HELD) {
    const why = Date.now() < buffer.limitedUntil ? "budget" : "busy";
    dropEvent(buffer.droppedEvents, why, { target, day, reason });
    return addDrop(buffer, why, sink);
  }
  // Encode the event here and not in the flush, so that each request uses its CPU time only for its own event.
  const withDetail = keepsDetail(sink.level);
  const { head, tail } = encodeEvent(event, withDetail);
  if (!withDetail && reason === "") buffer.dropped.budget += 1;
  buffer.events.push({ head, tail, day, target, reason, ip, ua });
  if (buffer.events.length % FLUSH_EVENTS === 0) return flushAll(buffer, sink);
  return arm(buffer, sink, windowMs(sink.level));
}

/**
 * Counts a request that was dropped before it became an event.
 * @param {EventBuffer} buffer
 * @param {import("./state.js").DropReason} reason
 * @param {Sink} sink
 * @returns {Promise<void> | undefined} for waitUntil
 */
export function recordDrop(buffer, reason, sink) {
  countEvent(buffer.droppedEvents, reason, { target: "", day: dayOf(Date.now()), reason: "" });
  return addDrop(buffer, reason, sink);
}

/** @param {EventBuffer} buffer @param {import("./state.js").DropReason} reason @param {Sink} sink */
function addDrop(buffer, reason, sink) {
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
  // Keep buffering while a write is in progress. The time limit ensures that a canceled writer cannot block other
  // requests.
  while (buffer.armed === me && Date.now() - buffer.writingSince < WAIT_FOR_WRITE_MS) await scheduler.wait(50);
  if (buffer.armed === me) await flushAll(buffer, sink);
}

/**
 * Flushes the buffer. During a short database outage, the function retries, because the next event may not arrive for a
 * long time.
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
 * Moves the first events into a batch. The batch stays in `batches` until the database has stored it.
 * @param {EventBuffer} buffer @returns {Batch | null} null if there is nothing to write
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
 * @returns {Promise<boolean>} false if the database does not accept the batch now; the batch then stays in `batches`
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
      if (String(error).includes(LIMIT_REACHED)) buffer.limitedUntil = Date.now() + LIMITED_MS;
      if (attempt === 2 || Date.now() < buffer.limitedUntil) {
        batch.triedAt = 0;
        return false;
      }
      await scheduler.wait(RETRY_AFTER_MS);
    }
  }
}

/**
 * Encodes the lines of a batch. If two requests process the batch, only one of them encodes it.
 * @param {EventBuffer} buffer @param {Batch} batch @param {D1Database} db
 * @throws {Error} if the database does not return the salt
 */
async function encodeLines(buffer, batch, db) {
  const { events } = batch;
  if (events === null) return;
  const visitors = await hashesOf(events, await saltsOf(buffer.salts, events, db));
  if (batch.events === null) return;
  let tooOld = 0;
  for (const [i, event] of events.entries()) {
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

// Returns no row if the event log row with this id has been sorted into pages, or if it already contains this write.
const APPEND =
  "insert into event_log(id, lines, writes, drops, tally) select ?1, ?2, ?3, ?4, ?5 " +
  "where ?1 > coalesce((select value ->> 'sorted' from meta where key = 'state'), 0) " +
  "on conflict(id) do update set lines = lines || excluded.lines, writes = writes || excluded.writes, " +
  "drops = drops || excluded.drops, tally = tally || excluded.tally where instr(event_log.writes, excluded.writes) = 0 " +
  "returning length(lines) as chars";

/** Marks a batch as done. @param {EventBuffer} buffer @param {Batch} batch */
function settle(buffer, batch) {
  buffer.batches = buffer.batches.filter((other) => other !== batch);
}

/**
 * Writes a batch. A write without a response eventually counts as lost, so two requests may write the same batch. The
 * database may execute the two writes in any order. This is safe, because both use the same row, and the row stores the
 * batch only once. If the row rejects the batch, only the later request decides what to do next.
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
      isFull = String(error).includes(TOO_BIG);
      // The database has stored nothing. Without an earlier attempt, the next one can use any row.
      const isOnly = batch.tries === tries && tries === batch.triesBefore + 1;
      if (isOnly && String(error).includes(LIMIT_REACHED)) batch.tries = batch.triesBefore;
      if (!isFull) throw error;
    }
    if (row !== null) {
      if (Number(row.chars) > ROW_CHARS && id === currentId(buffer)) buffer.logId += 1;
      return settle(buffer, batch);
    }
    if (isReplaced(buffer, batch, tries)) return undefined;
    if (isFull) {
      // Other isolates have filled the row. It does not contain this batch, and no earlier attempt can still add the
      // batch.
      useLaterRow(buffer, batch, id + 1);
    } else if (tries === batch.triesBefore + 1) {
      // The clock of this host is slow, so the row was sorted before this batch was added to it.
      const sorted = await db.prepare("select value ->> 'sorted' as id from meta where key = 'state'").first("id");
      if (isReplaced(buffer, batch, tries)) return undefined;
      useLaterRow(buffer, batch, Number(sorted) + 1);
    } else {
      const held = await db
        .prepare("select instr(writes, ?2) as held from event_log where id = ?1")
        .bind(id, batch.name)
        .first("held");
      if (isReplaced(buffer, batch, tries)) return undefined;
      // The row was sorted after the earlier attempts and may have contained the batch. A retry could count events
      // twice.
      if (held === null || held === 0) {
        buffer.dropped = addDrops(buffer.dropped, batch.drops);
        buffer.dropped.busy += batch.n;
        addTally(buffer.droppedEvents, batch.dropped);
        for (const events of batch.accepted.values()) addDropped(buffer.droppedEvents, "busy", events);
      }
      return settle(buffer, batch);
    }
  }
}

/**
 * @param {EventBuffer} buffer @param {Batch} batch @param {number} tries `batch.tries` after the caller's write
 * @returns {boolean} true if another request has written the batch or is writing it, and therefore handles the outcome
 */
const isReplaced = (buffer, batch, tries) => batch.tries !== tries || !buffer.batches.includes(batch);

/** Makes the next attempt use row `id` or later. @param {EventBuffer} buffer @param {Batch} batch @param {number} id */
function useLaterRow(buffer, batch, id) {
  buffer.logId = Math.max(buffer.logId, id);
  batch.triesBefore = batch.tries;
}

/** @param {EventBuffer} buffer @returns {number} id of this minute's row, or of the later row set by `useLaterRow` */
function currentId(buffer) {
  buffer.logId = Math.max(buffer.logId, firstIdAt(Date.now()));
  return buffer.logId;
}
