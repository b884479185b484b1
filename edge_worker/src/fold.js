/** Adding events up: pure. A part's body is lines of JSON; each is one event, see `encodeEvent`. */

/**
 * @typedef {[string, number, string, string, string?, string?, string?]} Line target, epoch hour, bot's reason,
 *   visitor; then, of a person and unless the write budget refused it, page, source and client
 *
 * @typedef {{v: number, b: number, [dimension: string]: number | Record<string, number>}} DayTotals
 * @typedef {{t: string, d: number, h: number, v: number, b: number, u: Set<string>}} HourSum
 * @typedef {{t: string, d: number, v: number, b: number, pages: Map<string, number>, sources: Map<string, number>,
 *   clients: Map<string, number>, bots: Map<string, number>}} DaySum
 * @typedef {{hours: Map<string, HourSum>, days: Map<string, DaySum>, tooOld: number, invalid: number}} Sums
 */

/** The dimensions of people's views, and how many keys each may have a target and day. */
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

/** What a line's client is made of, in this order; counted together, because a fold has 10 ms of CPU. */
const CLIENT = /** @type {const} */ (["countries", "devices", "browsers", "os"]);
const CLIENT_MARK = "|";
const OTHER_CLIENT = CLIENT.map(() => OTHER).join(CLIENT_MARK);

/**
 * @param {string} body
 * @returns {(Line | null)[]} null: a line that is no JSON; the last line may lack its end, then it is one
 */
export function readBody(body) {
  try {
    return JSON.parse(`[${body.slice(0, -1).replaceAll("\n", ",")}]`);
  } catch {
    // Only a body that something else has written to gets here: what is whole in it counts all the same.
    return body
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

/** @param {number} hour epoch hour @returns {number} epoch day */
const dayOfHour = (hour) => Math.floor(hour / 24);

/**
 * The days that these lines add to, in the order in which they come.
 * @param {(Line | null)[]} lines
 * @param {number} closedDay events of days up to this epoch day come too late
 * @param {number} most days that one fold takes
 * @returns {{keys: [string, number][], firsts: number[], end: number}} [target, epoch day]; the line with which each
 *   comes first; how many lines add to no other days
 */
export function daysOf(lines, closedDay, most) {
  const known = new Set();
  /** @type {[string, number][]} */
  const keys = [];
  const firsts = [];
  let end = 0;
  /** @type {Line | null} */
  let before = null;
  for (; end < lines.length; end += 1) {
    const line = lines[end] ?? null;
    // Lines of one target and hour mostly come together.
    if (line === null || (before !== null && line[0] === before[0] && line[1] === before[1])) continue;
    before = line;
    const d = dayOfHour(line[1]);
    const key = `${line[0]} ${d}`;
    if (d <= closedDay || known.has(key)) continue;
    if (keys.length === most) break;
    known.add(key);
    keys.push([line[0], d]);
    firsts.push(end);
  }
  return { keys, firsts, end };
}

/** @returns {Sums} */
export const emptySums = () => ({ hours: new Map(), days: new Map(), tooOld: 0, invalid: 0 });

/** @param {Map<string, number>} counts @param {string} key */
const addOne = (counts, key) => counts.set(key, (counts.get(key) ?? 0) + 1);

/**
 * @param {Sums} sums changed
 * @param {(Line | null)[]} lines
 * @param {number} closedDay events of days up to this epoch day come too late
 */
export function addLines(sums, lines, closedDay) {
  /** @type {HourSum | undefined} */
  let sum;
  /** @type {DaySum | undefined} */
  let day;
  for (const line of lines) {
    if (line === null) {
      sums.invalid += 1;
      continue;
    }
    const [t, hour, reason, visitor, page, source, client] = line;
    // Lines of one target and hour mostly come together.
    if (sum === undefined || day === undefined || sum.t !== t || sum.d * 24 + sum.h !== hour) {
      const d = dayOfHour(hour);
      if (d <= closedDay) {
        sums.tooOld += 1;
        continue;
      }
      const hourKey = `${t} ${hour}`;
      sum = sums.hours.get(hourKey);
      if (sum === undefined) sums.hours.set(hourKey, (sum = { t, d, h: hour - d * 24, v: 0, b: 0, u: new Set() }));
      const dayKey = `${t} ${d}`;
      day = sums.days.get(dayKey);
      if (day === undefined) sums.days.set(dayKey, (day = emptyDay(t, d)));
    }
    if (reason !== "") {
      sum.b += 1;
      day.b += 1;
      addOne(day.bots, reason);
      continue;
    }
    sum.v += 1;
    day.v += 1;
    sum.u.add(visitor);
    addOne(day.pages, page ?? OTHER);
    addOne(day.sources, source ?? OTHER);
    addOne(day.clients, client ?? OTHER_CLIENT);
  }
}

/** @param {string} t @param {number} d @returns {DaySum} */
const emptyDay = (t, d) => ({
  t, d, v: 0, b: 0, pages: new Map(), sources: new Map(), clients: new Map(), bots: new Map(),
});

/**
 * Adds counts to those of one dimension: a new key past the cap goes to "(other)", which does not count for the cap.
 * @param {Record<string, number>} known changed
 * @param {Iterable<[string, number]>} added in the order in which the keys came
 * @param {number} cap
 * @returns {Record<string, number>} known
 */
export function mergeCapped(known, added, cap) {
  let size = -1;
  for (const [key, n] of added) {
    let name = key;
    if (key !== OTHER && !Object.hasOwn(known, key)) {
      if (size < 0) size = Object.keys(known).length - (Object.hasOwn(known, OTHER) ? 1 : 0);
      if (size < cap) size += 1;
      else name = OTHER;
    }
    addTo(known, name, n);
  }
  return known;
}

/** @param {Record<string, number>} counts @param {string} key @param {number} n */
function addTo(counts, key, n) {
  const value = (Object.hasOwn(counts, key) ? /** @type {number} */ (counts[key]) : 0) + n;
  // Assigned, this key would not become one (it names the prototype); a visitor can send it.
  if (key === "__proto__") Object.defineProperty(counts, key, { value, writable: true, enumerable: true, configurable: true });
  else counts[key] = value;
}

/**
 * @param {string | undefined} known the day's row, undefined for none
 * @param {DaySum} added
 * @returns {DayTotals}
 */
export function mergeDay(known, added) {
  /** @type {{v: number, b: number} & Record<string, Record<string, number>>} */
  const day = known === undefined ? { v: 0, b: 0 } : JSON.parse(known);
  day.v += added.v;
  day.b += added.b;
  day.pages = mergeCapped(day.pages ?? {}, added.pages, DIMENSIONS.pages);
  day.sources = mergeCapped(day.sources ?? {}, added.sources, DIMENSIONS.sources);
  const clients = [...added.clients].map(([client, n]) => ({ keys: client.split(CLIENT_MARK), n }));
  for (const [i, name] of CLIENT.entries()) {
    /** @type {[string, number][]} */
    const counts = clients.map(({ keys, n }) => [keys[i] ?? OTHER, n]);
    day[name] = mergeCapped(day[name] ?? {}, counts, DIMENSIONS[name]);
  }
  day.bots = mergeCapped(day.bots ?? {}, added.bots, BOTS_CAP);
  return day;
}

const NOT_ASCII = /[\u0080-\uffff]/g;
const escapeOf = (/** @type {string} */ char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
/** Printable ASCII without quote and backslash: its JSON is itself in quotes. Nearly everything is. */
const PLAIN = /^[ !#-[\]-~]*$/;

/** @param {string} text @returns {string} its JSON in ASCII, so that a character is one of SQLite's too */
const quote = (text) => (PLAIN.test(text) ? `"${text}"` : JSON.stringify(text).replace(NOT_ASCII, escapeOf));

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
export function encodeEvent({ t, hour, reason, page, source, country, device, browser, os }, visitor, withDetail) {
  const head = `[${quote(t)},${hour},"${reason}","${visitor}"`;
  if (reason !== "" || !withDetail) return `${head}]\n`;
  const client = [country, device, browser, os].join(CLIENT_MARK);
  return `${head},${quote(page)},${quote(source)},${quote(client)}]\n`;
}
