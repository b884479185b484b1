/**
 * The points of a report by hour, day, week or month, aligned with the points of the compared period. Pure functions.
 */

/**
 * @typedef {import("./wire").Report} Report
 * @typedef {NonNullable<Report["by"]>} Step
 * @typedef {{views: number, visitors: number, bots: number, estimated?: true}} Counts `estimated`: a part of the counts
 *   is an estimate
 * @typedef {{at: string, end: string}} Part the hour or days of a point; `end` is exclusive
 * @typedef {Part & {now: Counts | null, before: Counts | null, earlier: Part | null}} Slot `now`: null if the counts
 *   are unknown; `earlier`: the part at the same position in the compared period, or null if there is none; `before`:
 *   its counts, or null if they are unknown
 */

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** @param {string} day `2026-11-21` @param {number} days @returns {string} the day that many days later */
export const addDays = (day, days) => new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10);

/**
 * @param {number} now_ms since 1970
 * @returns {{from: string, to: string}} the seven complete UTC days before today
 */
export function lastWeek(now_ms) {
  const today = new Date(now_ms).toISOString().slice(0, 10);
  return { from: addDays(today, -7), to: addDays(today, -1) };
}

/**
 * @param {number} at_ms @param {Step} by
 * @returns {number} the beginning of the next hour, day, ISO week or month
 */
function next(at_ms, by) {
  if (by === "hour") return at_ms + HOUR_MS;
  const at = new Date(at_ms);
  if (by === "month") return at.setUTCMonth(at.getUTCMonth() + 1, 1);
  return at_ms + (by === "week" ? 7 - ((at.getUTCDay() + 6) % 7) : 1) * DAY_MS;
}

/**
 * @param {{from: string, to: string}} days @param {Step} by
 * @returns {Part[]} the hours, days, weeks or months; the first and the last contain only days in the period
 */
export function partsOf({ from, to }, by) {
  const end_ms = Date.parse(to) + DAY_MS;
  const parts = [];
  for (let at_ms = Date.parse(from); at_ms < end_ms;) {
    const next_ms = Math.min(next(at_ms, by), end_ms);
    parts.push({ at: new Date(at_ms).toISOString(), end: new Date(next_ms).toISOString() });
    at_ms = next_ms;
  }
  return parts;
}

/**
 * @param {Pick<Report, "from" | "to" | "by" | "series"> & {comparison?: Report["comparison"] | null}} report
 * @returns {Slot[]} one for each hour, day, week or month of the period, including future hours
 */
export function slotsOf({ from, to, by = "day", series, comparison }) {
  /** @param {Report["series"]} points */
  const byTime = (points) => new Map(points.map((point) => [Date.parse(point.at), point]));
  const points = byTime(series);
  const compared = isCompared(comparison) ? partsOf(comparison, by) : [];
  const earlierPoints = byTime(comparison?.series ?? []);
  return partsOf({ from, to }, by).map((part, i) => {
    const earlier = compared[i] ?? null;
    return {
      ...part,
      now: points.get(Date.parse(part.at)) ?? null,
      before: (earlier && earlierPoints.get(Date.parse(earlier.at))) ?? null,
      earlier,
    };
  });
}

/**
 * @param {Report["comparison"] | null} comparison
 * @returns {comparison is NonNullable<Report["comparison"]>} false if nothing was counted in the compared period
 */
export const isCompared = (comparison) =>
  comparison !== undefined && comparison !== null && comparison.totals.views + comparison.totals.bots > 0;

/**
 * @param {Part[]} slots @param {number} now_ms since 1970
 * @returns {number} the index of the hour, day, week or month that is still running, or -1
 */
export const runningSlot = (slots, now_ms) =>
  slots.findIndex(({ at, end }) => now_ms >= Date.parse(at) && now_ms < Date.parse(end));

/** @param {string} at a timestamp @returns {number} the ISO number of its week (UTC) */
export function weekNumber(at) {
  // An ISO week belongs to the year that contains its Thursday.
  const thursday = new Date(Date.parse(at) + (3 - ((new Date(at).getUTCDay() + 6) % 7)) * DAY_MS);
  const newYear = new Date(thursday).setUTCMonth(0, 1);
  return 1 + Math.floor((thursday.getTime() - newYear) / (7 * DAY_MS));
}

/** @param {string} at @returns {boolean} true for a Saturday or Sunday (UTC) */
export const isWeekend = (at) => [0, 6].includes(new Date(at).getUTCDay());

/** @param {(Counts & {at: string})[]} totals @returns {Counts} */
export function sum(totals) {
  const all = { views: 0, visitors: 0, bots: 0 };
  for (const { views, visitors, bots } of totals) {
    all.views += views;
    all.visitors += visitors;
    all.bots += bots;
  }
  return all;
}

/**
 * @param {number} most the largest value in the chart
 * @returns {number[]} round axis values from 0 to at least `most`, at most six
 */
export function scale(most) {
  const power = 10 ** Math.floor(Math.log10(Math.max(most, 1)));
  const step = [0.25, 0.5, 1, 2.5].map((part) => part * power).find((one) => one * 4 >= most && one % 1 === 0);
  const unit = step ?? Math.max(1, Math.ceil(most / 4));
  return Array.from({ length: Math.max(1, Math.ceil(most / unit)) + 1 }, (_, i) => i * unit);
}
