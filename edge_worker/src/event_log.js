/**
 * The format of the event log: row ids, event lines, write names and drop lines. Each row contains the events of
 * one minute, in the order in which they were written. If a row is full, the next events of the minute are in another
 * row (slot). This module does no I/O.
 */

import { MINUTE_MS } from "./time.js";
import vocabulary from "./vocabulary.json" with { type: "json" };

/** Ids are minute * SLOTS + slot. When the row of a slot is full, writes use the next slot. */
const SLOTS = vocabulary.log_slots;

/** @param {number} at epoch ms @returns {number} the smallest possible row id of this minute */
export const firstIdAt = (at) => Math.floor(at / MINUTE_MS) * SLOTS;

/** @param {number} id @returns {number} epoch ms at which the row's minute begins */
export const minuteOf = (id) => Math.floor(id / SLOTS) * MINUTE_MS;

/** Number of characters that each write adds to the column `writes`: the write's name and a comma. */
const WRITE_NAME_CHARS = 9;

/** @returns {string} a random name for one write, for the column `writes` */
export const newWriteName = () => `${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(6))))},`;

/** @param {number} chars length of the column `writes` @returns {number} the number of writes in the column */
export const writesIn = (chars) => chars / WRITE_NAME_CHARS;

/**
 * @typedef {[string, number, string, string, string?, string?, string?, string?, string?]} Line target, epoch hour, bot
 *   reason, visitor. For a person, these follow unless the write budget omits them: page, source, client, and the
 *   campaign and target URL if there are any. A line is an array and not an object, because field names would add 100
 *   bytes per event.
 *
 * @typedef {object} Event
 * @property {string} target id of the site or link, without quotes
 * @property {number} hour epoch hour in which it was received
 * @property {import("./bots.js").Reason | import("./link_period.js").Outside} reason "" for a view
 * @property {string} page @property {string} source @property {string} country
 * @property {string} device @property {string} browser @property {string} os
 * @property {string} campaign "" for none
 * @property {string} served key of the target URL, or "" for a link without rules
 */

const CLIENT_MARK = "|";

/**
 * @param {string} client of a line
 * @returns {string[]} country, device, browser, os
 */
export const splitClient = (client) => client.split(CLIENT_MARK);

const NOT_ASCII = /[\u0080-\uffff]/g;
const escapeOf = (/** @type {string} */ char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;

/**
 * @param {string} text
 * @returns {string} JSON in ASCII, because SQLite and JavaScript count characters outside of ASCII differently
 */
const quote = (text) => JSON.stringify(text).replace(NOT_ASCII, escapeOf);

/**
 * A line without its visitor hash. The hash is inserted between `head` and `tail`. Both strings are copies, because
 * slices would keep the long strings of a request in memory.
 * @typedef {{head: string, tail: string}} OpenLine
 */

/**
 * @param {Event} event
 * @param {boolean} withDetail
 * @returns {OpenLine}
 */
export function encodeEvent(event, withDetail) {
  const { target, hour, reason, page, source, country, device, browser, os, campaign, served } = event;
  const head = `["${target}",${hour},"${reason}","`;
  if (reason !== "" || !withDetail) return { head, tail: '"]\n' };
  const client = [country, device, browser, os].join(CLIENT_MARK);
  const more = served !== "" ? `,${quote(campaign)},${quote(served)}` : campaign !== "" ? `,${quote(campaign)}` : "";
  return { head, tail: `",${quote(page)},${quote(source)},"${client}"${more}]\n` };
}

/** @param {OpenLine} line @param {string} visitor hash, "" for a bot @returns {string} the complete line */
export const closeLine = ({ head, tail }, visitor) => head + visitor + tail;

/**
 * @param {string} lines
 * @returns {(Line | null)[]} one item per line, null if the line is not valid JSON; the last line may lack its newline
 */
export function readLines(lines) {
  try {
    return JSON.parse(`[${lines.slice(0, -1).replaceAll("\n", ",")}]`);
  } catch {
    // A line is invalid only if another program has changed the row. The valid lines of the row still count.
    return lines
      .replace(/\n$/, "")
      .split("\n")
      .map((text) => {
        try {
          return JSON.parse(text);
        } catch {
          return null;
        }
      });
  }
}

/**
 * @param {import("./state.js").Dropped} dropped
 * @returns {string} lines of [reason, number]; "" if nothing was dropped
 */
export function encodeDrops(dropped) {
  const drops = Object.entries(dropped).filter(([, n]) => n > 0);
  return drops.map((drop) => `${JSON.stringify(drop)}\n`).join("");
}

/**
 * @param {import("./state.js").Dropped} dropped
 * @param {string} drops lines of [reason, number]
 * @returns {import("./state.js").Dropped} the sum of `dropped` and `drops`
 */
export function addDrops(dropped, drops) {
  const sum = { ...dropped };
  for (const line of drops.split("\n")) {
    if (line === "") continue;
    const [reason, n] = /** @type {[import("./state.js").DropReason, number]} */ (JSON.parse(line));
    sum[reason] += n;
  }
  return sum;
}
