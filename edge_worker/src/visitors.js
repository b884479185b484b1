/**
 * Computes visitor hashes. A hash has 6 bytes of HMAC-SHA256(the day's salt, target|address|user agent), as 8 base64
 * characters. The first isolate (running instance of the Worker) that needs the day's salt generates a random one. The
 * salt is deleted when the day is closed.
 */

import { DAY_MS, MINUTE_MS } from "./time.js";

/**
 * Number of digest bytes to keep. With 100,000 visitors per day, two visitors of the same day share a hash about once
 * in 56,000 days.
 */
const HASH_BYTES = 6;
const SALT_BYTES = 32;

/** An isolate deletes a salt from its memory this long after the end of the salt's day. */
const SALT_GRACE_MS = 15 * MINUTE_MS;

/**
 * @typedef {{day: number, target: string, reason: string, ip: string, ua: string}} Visit the input for an event's
 *   visitor hash, which is kept only in memory; reason: "" for a person
 */

/** @param {Uint8Array} bytes */
const base64 = (bytes) => btoa(String.fromCharCode(...bytes));

/**
 * @param {string} salt base64
 * @returns {Promise<CryptoKey>}
 */
function saltKey(salt) {
  const bytes = Uint8Array.from(atob(salt), (char) => char.charCodeAt(0));
  return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
}

const encoder = new TextEncoder();

/**
 * @param {CryptoKey} key
 * @param {string} target @param {string} address @param {string} ua
 * @returns {Promise<string>}
 */
async function visitorHash(key, target, address, ua) {
  const digest = await crypto.subtle.sign("HMAC", key, encoder.encode(`${target}|${address}|${ua}`));
  return base64(new Uint8Array(digest, 0, HASH_BYTES));
}

/**
 * Returns the HMAC key for a day's salt. If the day has no salt, creates one. If two isolates create a salt, the
 * database keeps the first.
 * @param {D1Database} db
 * @param {number} day epoch day
 * @returns {Promise<CryptoKey | null>} null if the day is closed
 */
async function saltOfDay(db, day) {
  const fresh = base64(crypto.getRandomValues(new Uint8Array(SALT_BYTES)));
  const answers = await db.batch([
    db
      .prepare(
        "insert or ignore into salt(day, salt) select ?1, ?2 " +
          "where ?1 > coalesce((select value ->> 'day' from meta where key = 'state'), 0)",
      )
      .bind(day, fresh),
    db.prepare("select salt from salt where day = ?").bind(day),
  ]);
  const row = /** @type {{salt: string} | undefined} */ (answers[1]?.results[0]);
  return row === undefined ? null : saltKey(row.salt);
}

/**
 * @param {Visit[]} events @param {Map<number, CryptoKey>} salts by epoch day
 * @returns {Promise<(string | undefined)[]>} each event's visitor hash; "" for a bot, undefined without a salt of the
 *   event's day
 */
export async function hashesOf(events, salts) {
  // Events of one visitor are often written together, so each hash is computed only once.
  /** @type {Map<string, Promise<string>>} */
  const making = new Map();
  const names = events.map(({ day, target, reason, ip, ua }) => {
    const key = salts.get(day);
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

/**
 * @param {Map<number, CryptoKey>} kept salts that the isolate keeps in memory, by epoch day
 * @param {Visit[]} events @param {D1Database} db
 * @returns {Promise<Map<number, CryptoKey>>} the salts of the events' days; a closed day has none
 */
export async function saltsOf(kept, events, db) {
  for (const day of kept.keys()) {
    if ((day + 1) * DAY_MS + SALT_GRACE_MS < Date.now()) kept.delete(day);
  }
  // Another request may delete a kept salt during an await, so collect the salts in a separate map.
  /** @type {Map<number, CryptoKey>} */
  const salts = new Map();
  for (const day of new Set(events.map((event) => event.day))) {
    const salt = kept.get(day) ?? (await saltOfDay(db, day));
    if (salt === null) continue;
    kept.set(day, salt);
    salts.set(day, salt);
  }
  return salts;
}
