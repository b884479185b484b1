/**
 * Computes visitor hashes. A hash has 6 bytes of HMAC-SHA256(the day's salt, target|address|user agent), as 8 base64
 * characters. The first isolate (running instance of the Worker) that needs the day's salt generates a random one. The
 * salt is deleted when the day is closed.
 */

/**
 * Number of digest bytes to keep. With 100,000 visitors per day, two visitors of the same day share a hash about once
 * in 56,000 days.
 */
const HASH_BYTES = 6;
const SALT_BYTES = 32;

/** Thrown if a day has no salt because it is closed. */
export class DayClosed extends Error {}

/** @param {Uint8Array} bytes */
const base64 = (bytes) => btoa(String.fromCharCode(...bytes));

/**
 * @param {string} salt base64
 * @returns {Promise<CryptoKey>}
 */
export function saltKey(salt) {
  const bytes = Uint8Array.from(atob(salt), (char) => char.charCodeAt(0));
  return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
}

const encoder = new TextEncoder();

/**
 * @param {CryptoKey} key
 * @param {string} target @param {string} address @param {string} ua
 * @returns {Promise<string>}
 */
export async function visitorHash(key, target, address, ua) {
  const digest = await crypto.subtle.sign("HMAC", key, encoder.encode(`${target}|${address}|${ua}`));
  return base64(new Uint8Array(digest, 0, HASH_BYTES));
}

/**
 * Returns the HMAC key for a day's salt. If the day has no salt, creates one. If two isolates create a salt, the
 * database keeps the first.
 * @param {D1Database} db
 * @param {number} day epoch day
 * @returns {Promise<CryptoKey>}
 * @throws {DayClosed} if the day is closed
 */
export async function saltOfDay(db, day) {
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
  if (row === undefined) throw new DayClosed(`day ${day} is closed`);
  return saltKey(row.salt);
}
