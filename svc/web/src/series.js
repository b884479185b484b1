/** Series of a report by day or hour, aligned with the previous period. Pure functions. */

/**
 * @typedef {import("./wire").Report} Report
 * @typedef {import("./wire").Total} Total
 * @typedef {{views: number, visitors: number, bots: number}} Counts
 * @typedef {{at: string, now: Counts | null, before: Counts | null}} Slot `now`: null if the counts are unknown;
 *   `before`: the counts at the same position in the previous period, null if the periods are not compared
 */

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const NONE = { views: 0, visitors: 0, bots: 0 };

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

/** @param {Pick<Report, "from" | "to">} report @returns {number} the number of days in the period */
const daysOf = ({ from, to }) => (Date.parse(to) - Date.parse(from)) / DAY_MS + 1;

/**
 * @param {Pick<Report, "from" | "to">} report
 * @returns {{from: string, to: string}} the preceding period of the same length
 */
export function periodBefore(report) {
  const days = daysOf(report);
  return { from: addDays(report.from, -days), to: addDays(report.from, -1) };
}

/**
 * @param {Pick<Report, "period" | "from" | "to" | "series">} report
 * @param {Total[] | null} before totals of the previous period, if compared
 * @returns {Slot[]} one per hour for today, including future hours; one per day for longer periods
 */
export function slotsOf(report, before) {
  const step_ms = report.period === "today" ? HOUR_MS : DAY_MS;
  const length_ms = daysOf(report) * DAY_MS;
  const points = new Map(report.series.map((point) => [Date.parse(point.at), point]));
  const earlier = new Map((before ?? []).map((total) => [Date.parse(total.at) + length_ms, total]));
  return Array.from({ length: length_ms / step_ms }, (_, i) => {
    const at_ms = Date.parse(report.from) + i * step_ms;
    return {
      at: new Date(at_ms).toISOString(),
      now: points.get(at_ms) ?? null,
      before: before && (earlier.get(at_ms) ?? NONE),
    };
  });
}

/**
 * @param {Slot[]} slots @param {boolean} hourly @param {number} now_ms since 1970
 * @returns {number} the index of the hour or day that is still running, or -1
 */
export const runningSlot = (slots, hourly, now_ms) =>
  slots.findIndex(({ at }) => now_ms - Date.parse(at) >= 0 && now_ms - Date.parse(at) < (hourly ? HOUR_MS : DAY_MS));

/** @param {string} at @returns {boolean} true for a Saturday or Sunday (UTC) */
export const isWeekend = (at) => [0, 6].includes(new Date(at).getUTCDay());

/** @param {(Counts & {at: string})[]} totals @returns {Counts} */
export function sum(totals) {
  const all = { ...NONE };
  for (const { views, visitors, bots } of totals) {
    all.views += views;
    all.visitors += visitors;
    all.bots += bots;
  }
  return all;
}

/**
 * @param {Pick<Report, "from" | "breakdowns_from">} report
 * @returns {string | null} the first day of the breakdowns if it is later than the report's first day; otherwise null
 */
export const firstListed = ({ from, breakdowns_from: first }) => (first !== null && first > from ? first : null);

/** @param {Pick<Report, "series">} report @param {string} from a day @returns {Counts} the sum from that day on */
export const sumFrom = ({ series }, from) => sum(series.filter(({ at }) => at >= from));

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
