/**
 * The way of an event into the database: gathered in the isolate for a short window and while a write is under way,
 * then appended together to the part of the minute. A write is named by a random id that the part's row remembers, so
 * that a write made twice (its answer was lost) adds nothing the second time.
 */

import { keepsDetail, windowMs } from "./budget.js";
import { encodeEvent } from "./fold.js";
import { noneDropped } from "./state.js";
import { DAY_MS, MINUTE_MS, SECOND_MS } from "./time.js";
import { DayClosed, saltOfDay, visitorHash } from "./visitors.js";

/** Ids of parts: minute * SLOTS + slot. A slot that is full is left for the next one. */
export const SLOTS = 256;

/** A row of this many characters is full: appending copies it. Under 2 MB with what isolates add meanwhile. */
const SLOT_CHARS = 64_000;

/** So many gathered events are written without waiting for the window's end: about 3 ms of CPU. */
const FLUSH_EVENTS = 400;

/** Events held while the database does not take them (about 4 MB); more are dropped. */
const MOST_HELD = 8_000;

const RETRY_AFTER_MS = 300;

/** A flush that failed is made again after these pauses; then the next event brings what is held. */
const FLUSH_PAUSES_MS = [1 * SECOND_MS, 4 * SECOND_MS];

/** A write without an answer for so long is taken for lost, and made again under its own name. */
const WRITE_LOST_MS = 15 * SECOND_MS;

/** After the platform's daily limit was met, the next try comes so much later. */
const LIMITED_MS = MINUTE_MS;

/** The window when only drops are to be written. */
const DROPS_LEVEL = 3;

/**
 * @typedef {import("./fold.js").Event & {ip: string, ua: string}} Seen an event with what its visitor's hash is made
 *   of; it exists in memory only
 * @typedef {{id: number, flush: string, body: string, drops: string, n: number, tried: boolean, triedAt: number}} Chunk
 * @typedef {{db: D1Database, level: number}} Sink where to write, and the write budget's level
 */

export class Gather {
  /** @type {Seen[]} */
  events = [];
  /** @type {object | null} the request that will write what is in `events` */
  armed = null;
  /** @type {Chunk[]} being written, or written without an answer */
  chunks = [];
  writingSince = 0;
  minute = 0;
  slot = 0;
  limitedUntil = 0;
  /** @type {Map<number, CryptoKey>} by epoch day */
  salts = new Map();
  dropped = noneDropped();

  /** Events not yet confirmed by the database. */
  get held() {
    return this.events.length + this.chunks.reduce((sum, { n }) => sum + n, 0);
  }
}

/**
 * @param {Gather} gather
 * @param {Seen} event
 * @param {Sink} sink
 * @returns {Promise<void> | undefined} for waitUntil; undefined: another request will write this event
 */
export function record(gather, event, sink) {
  if (gather.events.length >= FLUSH_EVENTS && gather.held >= MOST_HELD) {
    return recordDrop(gather, Date.now() < gather.limitedUntil ? "budget" : "busy", sink);
  }
  gather.events.push(event);
  if (gather.events.length % FLUSH_EVENTS === 0) return flushAll(gather, sink);
  return arm(gather, sink, windowMs(sink.level));
}

/**
 * @param {Gather} gather
 * @param {import("./state.js").DropReason} reason
 * @param {Sink} sink
 * @returns {Promise<void> | undefined} for waitUntil
 */
export function recordDrop(gather, reason, sink) {
  gather.dropped[reason] += 1;
  return arm(gather, sink, windowMs(DROPS_LEVEL));
}

/** @param {Gather} gather @param {Sink} sink @param {number} waitMs */
function arm(gather, sink, waitMs) {
  if (gather.armed !== null) return undefined;
  const me = {};
  gather.armed = me;
  return flushAfter(gather, me, sink, waitMs);
}

/** @param {Gather} gather @param {object} me @param {Sink} sink @param {number} waitMs */
async function flushAfter(gather, me, sink, waitMs) {
  await scheduler.wait(waitMs);
  // Gather on while a write is under way; a request that was cancelled in its write does not hold the others up.
  while (gather.armed === me && Date.now() - gather.writingSince < 5 * SECOND_MS) await scheduler.wait(50);
  if (gather.armed === me) await flushAll(gather, sink);
}

/**
 * Flushes, and outlives a short disturbance of the database: perhaps no other event comes for a long time.
 * @param {Gather} gather @param {Sink} sink
 */
async function flushAll(gather, sink) {
  await flush(gather, sink);
  for (const pauseMs of FLUSH_PAUSES_MS) {
    if (gather.held === 0 || gather.armed !== null || Date.now() < gather.limitedUntil) return;
    await scheduler.wait(pauseMs);
    if (gather.armed === null) await flush(gather, sink);
  }
}

/** @param {Gather} gather @param {Sink} sink */
async function flush(gather, sink) {
  gather.armed = null;
  if (Date.now() < gather.limitedUntil) return;
  gather.writingSince = Date.now();
  try {
    const lost = gather.chunks.find(({ triedAt }) => Date.now() - triedAt >= WRITE_LOST_MS);
    if (lost !== undefined && !(await write(gather, lost, sink.db))) return;
    const events = gather.events.splice(0, 2 * FLUSH_EVENTS);
    const chunk = await makeChunk(gather, events, sink);
    if (chunk === null) return;
    gather.chunks.push(chunk);
    await write(gather, chunk, sink.db);
  } finally {
    gather.writingSince = 0;
  }
}

/**
 * @param {Gather} gather @param {Seen[]} events @param {Sink} sink
 * @returns {Promise<Chunk | null>} null: nothing to write, or no salt to be had now (the events are held)
 */
async function makeChunk(gather, events, { db, level }) {
  try {
    await fetchSalts(gather, events, db);
  } catch (error) {
    gather.events.unshift(...events);
    noteFailure(gather, "no salt", error);
    return null;
  }
  const withDetail = keepsDetail(level);
  const visitors = await hashesOf(gather, events);
  const lines = events.map((event, i) => {
    const visitor = visitors[i];
    return visitor === undefined ? "" : encodeEvent(event, visitor, withDetail);
  });
  const kept = lines.filter((line) => line !== "");
  gather.dropped.too_old += events.length - kept.length;
  if (!withDetail) gather.dropped.budget += kept.length;
  const drops = takeDrops(gather);
  if (kept.length === 0 && drops === "") return null;
  return { id: 0, flush: flushName(), body: kept.join(""), drops, n: kept.length, tried: false, triedAt: Date.now() };
}

/**
 * @param {Gather} gather @param {Seen[]} events
 * @returns {Promise<(string | undefined)[]>} for each event: "" for a bot, undefined when its day is closed
 */
async function hashesOf(gather, events) {
  // Several events of one visitor are often written together: one hash for all.
  /** @type {Map<string, Promise<string>>} */
  const making = new Map();
  const names = events.map(({ t, hour, reason, ip, ua }) => {
    const day = Math.floor(hour / 24);
    const key = gather.salts.get(day);
    if (key === undefined) return undefined;
    if (reason !== "") return "";
    const name = `${day}|${t}|${ip}|${ua}`;
    if (!making.has(name)) making.set(name, visitorHash(key, t, ip, ua));
    return name;
  });
  const hashes = await Promise.all(making.values());
  const made = new Map([...making.keys()].map((name, i) => [name, hashes[i]]));
  return names.map((name) => (name === undefined || name === "" ? name : made.get(name)));
}

/** @param {Gather} gather @param {Seen[]} events @param {D1Database} db */
async function fetchSalts(gather, events, db) {
  for (const day of new Set(events.map(({ hour }) => Math.floor(hour / 24)))) {
    if (gather.salts.has(day)) continue;
    try {
      gather.salts.set(day, await saltOfDay(db, day));
    } catch (error) {
      if (!(error instanceof DayClosed)) throw error;
    }
  }
  // A day's salt leaves the isolate's memory soon after the day, as it leaves the database.
  for (const day of gather.salts.keys()) {
    if ((day + 1) * DAY_MS + 15 * MINUTE_MS < Date.now()) gather.salts.delete(day);
  }
}

/** @param {Gather} gather @returns {string} the drops since the last write, a line for each reason */
function takeDrops(gather) {
  const drops = Object.entries(gather.dropped).filter(([, n]) => n > 0);
  gather.dropped = noneDropped();
  return drops.map((drop) => `${JSON.stringify(drop)}\n`).join("");
}

/** A name and a comma: the row's column `f` grows by so many characters a write, and so counts the writes too. */
export const FLUSH_NAME_CHARS = 9;

function flushName() {
  return `${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(6))))},`;
}

/** @param {Gather} gather @param {string} what @param {unknown} error */
function noteFailure(gather, what, error) {
  console.warn(`${what}: ${String(error)}`);
  // The platform's text; the code that goes with it is not documented (platform docs: D1 limits).
  if (String(error).includes("daily row")) gather.limitedUntil = Date.now() + LIMITED_MS;
}

/**
 * @param {Gather} gather @param {Chunk} chunk @param {D1Database} db
 * @returns {Promise<boolean>} false: the database does not take it now; the chunk is held
 */
async function write(gather, chunk, db) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await append(gather, chunk, db);
      gather.chunks = gather.chunks.filter((other) => other !== chunk);
      return true;
    } catch (error) {
      noteFailure(gather, "events not written", error);
      if (attempt === 2 || Date.now() < gather.limitedUntil) {
        chunk.triedAt = 0;
        return false;
      }
      await scheduler.wait(RETRY_AFTER_MS);
    }
  }
}

// An id that is sorted takes nothing more, and a write that the row remembers is not repeated: no row comes back then.
const APPEND =
  "insert into part(id, body, f, x) select ?1, ?2, ?3, ?4 " +
  "where ?1 > coalesce((select v ->> 'sorted' from meta where k = 'state'), 0) " +
  "on conflict(id) do update set body = body || excluded.body, f = f || excluded.f, x = x || excluded.x " +
  "where instr(part.f, excluded.f) = 0 returning length(body) as chars";

/** @param {Gather} gather @param {Chunk} chunk @param {D1Database} db */
async function append(gather, chunk, db) {
  for (;;) {
    const again = chunk.tried;
    if (!again) chunk.id = partId(gather);
    chunk.tried = true;
    chunk.triedAt = Date.now();
    const row = await db.prepare(APPEND).bind(chunk.id, chunk.body, chunk.flush, chunk.drops).first();
    if (row !== null) {
      if (Number(row.chars) > SLOT_CHARS && chunk.id === partId(gather)) takeNextSlot(gather);
      return;
    }
    if (again) {
      const held = await db
        .prepare("select instr(f, ?2) as held from part where id = ?1")
        .bind(chunk.id, chunk.flush)
        .first("held");
      // Sorted meanwhile: whether the first try was in it cannot be known, and nothing may count twice.
      if (held === null || held === 0) gather.dropped.busy += chunk.n;
      return;
    }
    // Nothing of this chunk is stored, its part was sorted already (this place's clock is slow): into a later one.
    chunk.tried = false;
    const sorted = Number(await db.prepare("select v ->> 'sorted' as id from meta where k = 'state'").first("id"));
    gather.minute = Math.floor(sorted / SLOTS);
    gather.slot = sorted % SLOTS;
    takeNextSlot(gather);
  }
}

/** @param {Gather} gather */
function partId(gather) {
  const minute = Math.floor(Date.now() / MINUTE_MS);
  if (minute > gather.minute) {
    gather.minute = minute;
    gather.slot = 0;
  }
  return gather.minute * SLOTS + gather.slot;
}

/** @param {Gather} gather */
function takeNextSlot(gather) {
  gather.slot += 1;
  if (gather.slot === SLOTS) {
    gather.minute += 1;
    gather.slot = 0;
  }
}
