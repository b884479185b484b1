/** Adding events up: pure. A part's body is lines of JSON; each is one event, see `encodeEvent`. */

/**
 * @typedef {[string, number, string, string, string?, string?, string?, string?, string?, string?]} Line target, epoch
 *   hour, bot's reason, visitor, and the detail (page, source, country, device, browser, os), which the write budget
 *   may have refused
 *
 * @typedef {{v: number, b: number, u: number, [dimension: string]: number | Record<string, number>}} DayTotals
 * @typedef {{t: string, d: number, h: number, v: number, b: number, u: Set<string>}} HourSum
 * @typedef {{t: string, d: number, v: number, b: number, detail: Map<string, Map<string, number>>}} DaySum
 * @typedef {{hours: Map<string, HourSum>, days: Map<string, DaySum>, tooOld: number, invalid: number}} Sums
 */

/** The dimensions of people's views, in the order of a line, and how many keys each may have a target and day. */
export const DIMENSIONS = /** @type {const} */ ({
  pages: 200,
  sources: 100,
  countries: 260,
  devices: 10,
  browsers: 40,
  os: 30,
});

/** The dimension of bots: its keys are the reasons. */
export const BOTS_CAP = 20;

/** The key that holds what exceeds a cap, and detail that the write budget refused. */
export const OTHER = "(other)";

const NAMES = /** @type {(keyof typeof DIMENSIONS)[]} */ (Object.keys(DIMENSIONS));
const LINE_HEAD = 4;

/**
 * @param {string} body
 * @returns {{lines: Line[], invalid: number}}
 */
export function readBody(body) {
  try {
    return { lines: JSON.parse(`[${body.slice(0, -1).replaceAll("\n", ",")}]`), invalid: 0 };
  } catch {
    // Only a body that something else has written to gets here: what is whole in it counts all the same.
    /** @type {Line[]} */
    const lines = [];
    let invalid = 0;
    for (const text of body.split("\n")) {
      try {
        if (text !== "") lines.push(JSON.parse(text));
      } catch {
        invalid += 1;
      }
    }
    return { lines, invalid };
  }
}

/** @returns {Sums} */
export const emptySums = () => ({ hours: new Map(), days: new Map(), tooOld: 0, invalid: 0 });

/**
 * @param {DaySum} day @param {string} dimension @param {string} key
 */
function addDetail(day, dimension, key) {
  let counts = day.detail.get(dimension);
  if (counts === undefined) day.detail.set(dimension, (counts = new Map()));
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/**
 * @param {Sums} sums changed
 * @param {string} body
 * @param {number} closedDay events of days up to this epoch day come too late
 */
export function addBody(sums, body, closedDay) {
  const { lines, invalid } = readBody(body);
  sums.invalid += invalid;
  for (const line of lines) {
    const [t, hour, reason, visitor] = line;
    const d = Math.floor(hour / 24);
    if (d <= closedDay) {
      sums.tooOld += 1;
      continue;
    }
    const hourKey = `${t} ${hour}`;
    let sum = sums.hours.get(hourKey);
    if (sum === undefined) sums.hours.set(hourKey, (sum = { t, d, h: hour - d * 24, v: 0, b: 0, u: new Set() }));
    const dayKey = `${t} ${d}`;
    let day = sums.days.get(dayKey);
    if (day === undefined) sums.days.set(dayKey, (day = { t, d, v: 0, b: 0, detail: new Map() }));
    if (reason !== "") {
      sum.b += 1;
      day.b += 1;
      addDetail(day, "bots", reason);
      continue;
    }
    sum.v += 1;
    day.v += 1;
    sum.u.add(visitor);
    for (let i = 0; i < NAMES.length; i += 1) {
      addDetail(day, /** @type {string} */ (NAMES[i]), /** @type {string | undefined} */ (line[LINE_HEAD + i]) ?? OTHER);
    }
  }
}

/**
 * Adds counts to those of one dimension: a new key past the cap goes to "(other)", which does not count for the cap.
 * @param {Record<string, number>} known
 * @param {Map<string, number>} added in the order in which the keys came
 * @param {number} cap
 * @returns {Record<string, number>}
 */
export function mergeCapped(known, added, cap) {
  const merged = new Map(Object.entries(known));
  let size = merged.size - (merged.has(OTHER) ? 1 : 0);
  for (const [key, n] of added) {
    const has = merged.has(key);
    if (!has && key !== OTHER && size >= cap) {
      merged.set(OTHER, (merged.get(OTHER) ?? 0) + n);
      continue;
    }
    if (!has && key !== OTHER) size += 1;
    merged.set(key, (merged.get(key) ?? 0) + n);
  }
  // fromEntries defines properties: a key such as "__proto__" stays a key.
  return Object.fromEntries(merged);
}

/**
 * @param {string | undefined} known the day's row, undefined for none
 * @param {DaySum} added
 * @returns {DayTotals}
 */
export function mergeDay(known, added) {
  /** @type {DayTotals} */
  const day = known === undefined ? { v: 0, b: 0, u: 0 } : JSON.parse(known);
  day.v += added.v;
  day.b += added.b;
  for (const name of [...NAMES, "bots"]) {
    const counts = added.detail.get(name);
    const cap = name === "bots" ? BOTS_CAP : DIMENSIONS[/** @type {keyof typeof DIMENSIONS} */ (name)];
    const before = /** @type {Record<string, number>} */ (day[name] ?? {});
    day[name] = counts === undefined ? before : mergeCapped(before, counts, cap);
  }
  return day;
}

/**
 * @typedef {object} Event
 * @property {string} t target
 * @property {number} hour epoch hour in which it was received
 * @property {string} reason "" for a person
 * @property {string} page @property {string} source @property {string} country
 * @property {string} device @property {string} browser @property {string} os
 */

/**
 * @param {Event} event
 * @param {string} visitor hash, "" for a bot
 * @param {boolean} withDetail
 * @returns {string} one line, with its end
 */
export function encodeEvent(event, visitor, withDetail) {
  const { t, hour, reason } = event;
  /** @type {(string | number)[]} */
  const line = [t, hour, reason, visitor];
  if (reason !== "") line.push("", "", "", "", "", "");
  else if (withDetail) line.push(event.page, event.source, event.country, event.device, event.browser, event.os);
  return `${JSON.stringify(line)}\n`;
}
