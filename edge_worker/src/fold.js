/** Adds up events by target (site or link), day and hour. This module does no I/O. */

import { splitClient } from "./event_log.js";
import { countEvent } from "./ledger.js";
import { isOutside } from "./link_period.js";
import { INTERNAL } from "./sources.js";
import vocabulary from "./vocabulary.json" with { type: "json" };

/**
 * @typedef {import("./event_log.js").Line} Line
 * @typedef {import("./ledger.js").Tally} Tally
 * @typedef {Record<string, number>} Breakdown counts by key
 *
 * @typedef {object} DayTotals the JSON of a day's row; `visitors` is added when the day is closed
 * @property {number} views
 * @property {Breakdown} pages @property {Breakdown} sources @property {Breakdown} countries
 * @property {Breakdown} devices @property {Breakdown} browsers @property {Breakdown} os
 * @property {Breakdown} bots by reason; their sum is the number of bot requests
 * @property {Breakdown} [campaigns] @property {Breakdown} [entries]
 * @property {Breakdown} [arrivals] @property {Breakdown} [targets] these four are missing in a row of an older Worker,
 *   and complete in all other rows
 * @property {Breakdown} [outside] clicks outside of a link's period by reason, if there are any
 *
 * @typedef {{target: string, day: number, hour: number, views: number, bots: number, visitors: Set<string>}} HourSum
 *   hour: of the day
 * @typedef {{target: string, day: number, views: number, pages: Map<string, number>, sources: Map<string, number>,
 *   clients: Map<string, number>, bots: Map<string, number>, campaigns: Map<string, number>,
 *   arrivals: Map<string, number>, targets: Map<string, number>, outside: Map<string, number>}} DaySum
 * @typedef {object} Sums
 * @property {Map<string, HourSum>} hours @property {Map<string, DaySum>} days
 * @property {number} tooOld number of events whose day is closed @property {Tally} late these events, by target and day
 * @property {number} invalid
 */

/**
 * The maximum number of keys and the maximum total size of these keys in bytes, for one dimension of a target's day.
 * @typedef {{keys: number, bytes: number}} Cap
 */
const CAPS = vocabulary.dimensions;

/** Separates the source from the page in a key of `arrivals`. A page cannot contain a space. */
const ARRIVAL_MARK = " ";

/** The key for values beyond the cap, and for events whose details were omitted because of the write budget. */
export const OTHER = "(other)";

/** @param {number} hour epoch hour @returns {number} epoch day */
const dayOfHour = (hour) => Math.floor(hour / 24);

/**
 * Returns the days that these lines belong to, in order of appearance.
 * @param {(Line | null)[]} lines
 * @param {number} closedDay events of days up to this epoch day are too late
 * @param {number} most maximum number of days in one fold
 * @returns {{keys: [string, number][], firsts: number[], end: number}} keys: [target, epoch day]; firsts: index of the
 *   first line of each key; end: number of leading lines that belong to these days only
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
    // Skip lines with the same target and hour as the line before, which is the usual case.
    if (line === null || (before !== null && line[0] === before[0] && line[1] === before[1])) continue;
    before = line;
    const day = dayOfHour(line[1]);
    const key = dayKey(line[0], day);
    if (day <= closedDay || known.has(key)) continue;
    if (keys.length === most) break;
    known.add(key);
    keys.push([line[0], day]);
    firsts.push(end);
  }
  return { keys, firsts, end };
}

/** @param {string} target @param {number} day epoch day @returns {string} the key of a target's day in `Sums` */
export const dayKey = (target, day) => `${target} ${day}`;

/**
 * Returns which hour receives the events of refused hours, whose totals are not sent. All refused hours of a day share
 * the row of the first one, because each further row would count toward the write budget. The row's visitors and counts
 * are needed for the totals of the day.
 * @param {number[]} refused epoch hours, in ascending order
 * @returns {Map<number, number>} for each refused hour, the first refused hour of its day
 */
export function mergedHours(refused) {
  const firsts = new Map();
  for (const hour of refused) if (!firsts.has(dayOfHour(hour))) firsts.set(dayOfHour(hour), hour);
  return new Map(refused.map((hour) => [hour, firsts.get(dayOfHour(hour))]));
}

/** @returns {Sums} */
export const emptySums = () => ({ hours: new Map(), days: new Map(), tooOld: 0, late: new Map(), invalid: 0 });

/** @param {Map<string, number>} counts @param {string} key */
const addOne = (counts, key) => counts.set(key, (counts.get(key) ?? 0) + 1);

/**
 * @param {Sums} sums updated in place
 * @param {(Line | null)[]} lines
 * @param {number} closedDay events of days up to this epoch day are too late
 * @param {Map<number, number>} [merged] see `mergedHours`
 */
export function addLines(sums, lines, closedDay, merged = new Map()) {
  let hourBefore = -1;
  /** @type {HourSum | undefined} */
  let hourSum;
  /** @type {DaySum | undefined} */
  let daySum;
  for (const line of lines) {
    if (line === null) {
      sums.invalid += 1;
      continue;
    }
    const [target, epochHour, reason, visitor, page, source, client, campaign, served] = line;
    if (isOutside(reason)) {
      addOutside(sums, line, closedDay);
      continue;
    }
    // Look up the sums only if the target or the hour changes, because lines of the same target and hour are usually
    // adjacent.
    if (hourSum === undefined || daySum === undefined || hourSum.target !== target || hourBefore !== epochHour) {
      const day = dayOfHour(epochHour);
      if (day <= closedDay) {
        sums.tooOld += 1;
        countEvent(sums.late, "too_old", { target, day, reason });
        continue;
      }
      hourBefore = epochHour;
      hourSum = hourSumOf(sums, target, day, (merged.get(epochHour) ?? epochHour) - day * 24);
      daySum = daySumOf(sums, target, day);
    }
    if (reason !== "") {
      hourSum.bots += 1;
      addOne(daySum.bots, reason);
      continue;
    }
    hourSum.views += 1;
    daySum.views += 1;
    hourSum.visitors.add(visitor);
    addOne(daySum.pages, page ?? OTHER);
    addOne(daySum.sources, source ?? OTHER);
    addOne(daySum.clients, client ?? OTHER);
    // The page is empty for links, and for events without details.
    if (page && source !== INTERNAL) addOne(daySum.arrivals, `${source}${ARRIVAL_MARK}${page}`);
    if (campaign) addOne(daySum.campaigns, campaign);
    if (served) addOne(daySum.targets, served);
  }
}

/**
 * Adds a click outside of a link's period. It belongs to no hour, because hours contain only views and bots.
 * @param {Sums} sums updated in place @param {Line} line @param {number} closedDay
 */
function addOutside(sums, [target, epochHour, reason], closedDay) {
  const day = dayOfHour(epochHour);
  if (day <= closedDay) sums.tooOld += 1;
  else addOne(daySumOf(sums, target, day).outside, reason);
}

/** @param {Sums} sums @param {string} target @param {number} day @param {number} hour of the day @returns {HourSum} */
function hourSumOf(sums, target, day, hour) {
  const key = `${target} ${day} ${hour}`;
  const known = sums.hours.get(key);
  if (known !== undefined) return known;
  const sum = { target, day, hour, views: 0, bots: 0, visitors: new Set() };
  sums.hours.set(key, sum);
  return sum;
}

/** @param {Sums} sums @param {string} target @param {number} day @returns {DaySum} */
function daySumOf(sums, target, day) {
  const key = dayKey(target, day);
  const known = sums.days.get(key);
  if (known !== undefined) return known;
  const sum = {
    target,
    day,
    views: 0,
    pages: new Map(),
    sources: new Map(),
    clients: new Map(),
    bots: new Map(),
    campaigns: new Map(),
    arrivals: new Map(),
    targets: new Map(),
    outside: new Map(),
  };
  sums.days.set(key, sum);
  return sum;
}

/**
 * Adds counts to one dimension. New keys beyond the cap are counted as "(other)", which does not count toward the cap.
 * @param {Breakdown} known updated in place
 * @param {Iterable<[string, number]>} added in order of appearance
 * @param {Cap} cap
 * @returns {Breakdown} known
 */
export function mergeCapped(known, added, cap) {
  let keys = -1;
  let bytes = 0;
  for (const [key, n] of added) {
    let name = key;
    if (key !== OTHER && !Object.hasOwn(known, key)) {
      if (keys < 0) {
        const names = Object.keys(known).filter((each) => each !== OTHER);
        keys = names.length;
        bytes = names.reduce((sum, each) => sum + bytesOf(each), 0);
      }
      const size = bytesOf(key);
      if (keys < cap.keys && bytes + size <= cap.bytes) {
        keys += 1;
        bytes += size;
      } else {
        name = OTHER;
      }
    }
    addTo(known, name, n);
  }
  return known;
}

const ASCII = /^[\0-\x7f]*$/;

/**
 * @param {string} key @returns {number} an upper limit of its size in UTF-8, which needs at most 3 bytes per UTF-16
 *   unit
 */
export const bytesOf = (key) => (ASCII.test(key) ? key.length : 3 * key.length);

/** @param {Breakdown} counts @param {string} key @param {number} n */
function addTo(counts, key, n) {
  const value = (Object.hasOwn(counts, key) ? /** @type {number} */ (counts[key]) : 0) + n;
  // A visitor can send this key. A normal assignment would set the object's prototype instead of a property.
  if (key === "__proto__") {
    Object.defineProperty(counts, key, { value, writable: true, enumerable: true, configurable: true });
  } else {
    counts[key] = value;
  }
}

/**
 * @param {string | undefined} known the day's row, undefined for none
 * @param {DaySum} added
 * @returns {DayTotals}
 */
export function mergeDay(known, added) {
  /** @type {Partial<DayTotals>} */
  const stored = known === undefined ? {} : JSON.parse(known);
  /** @param {keyof typeof CAPS} name @param {Iterable<[string, number]>} counts */
  const merged = (name, counts) => mergeCapped(stored[name] ?? {}, counts, CAPS[name]);
  // A client (country, device, browser, os) is counted under one key and split only here, because a fold has only 10 ms
  // of CPU time.
  const clients = [...added.clients].map(([client, n]) => ({ keys: splitClient(client), n }));
  /** @param {number} i @returns {[string, number][]} */
  const ofClients = (i) => clients.map(({ keys, n }) => [keys[i] ?? OTHER, n]);
  return {
    views: (stored.views ?? 0) + added.views,
    pages: merged("pages", added.pages),
    sources: merged("sources", added.sources),
    countries: merged("countries", ofClients(0)),
    devices: merged("devices", ofClients(1)),
    browsers: merged("browsers", ofClients(2)),
    os: merged("os", ofClients(3)),
    bots: merged("bots", added.bots),
    ...(known === undefined || stored.entries !== undefined ? visitLists(merged, added) : {}),
    ...(stored.outside !== undefined || added.outside.size > 0 ? { outside: merged("outside", added.outside) } : {}),
  };
}

/**
 * Returns the breakdowns that older Workers do not store.
 * @param {(name: keyof typeof CAPS, counts: Iterable<[string, number]>) => Breakdown} merged
 * @param {DaySum} added
 */
const visitLists = (merged, { campaigns, arrivals, targets }) => ({
  campaigns: merged("campaigns", campaigns),
  entries: merged("entries", entriesOf(arrivals)),
  arrivals: merged("arrivals", arrivals),
  targets: merged("targets", targets),
});

/** @param {Map<string, number>} arrivals @returns {[string, number][]} */
const entriesOf = (arrivals) =>
  [...arrivals].map(([arrival, n]) => [arrival.slice(arrival.lastIndexOf(ARRIVAL_MARK) + 1), n]);
