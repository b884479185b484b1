/** A report's points on the days or hours of its period, and beside them those of the period before. Pure. */

/**
 * @typedef {import("./wire").Report} Report
 * @typedef {import("./wire").Total} Total
 * @typedef {{views: number, visitors: number, bots: number}} Counts
 * @typedef {{at: string, now: Counts | null, before: Counts | null}} Slot `now`: null where nothing is known, which is
 *   not nothing; `before`: of the same place in the period before, null where it is not asked for
 */

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const NONE = { views: 0, visitors: 0, bots: 0 };

/** @param {string} day `2026-11-21` @param {number} days @returns {string} the day so many days later */
export const addDays = (day, days) => new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10);

/** @param {Pick<Report, "from" | "to">} report @returns {number} how many days it is of */
const daysOf = ({ from, to }) => (Date.parse(to) - Date.parse(from)) / DAY_MS + 1;

/**
 * @param {Pick<Report, "from" | "to">} report
 * @returns {{from: string, to: string}} as many days, right before
 */
export function periodBefore(report) {
  const days = daysOf(report);
  return { from: addDays(report.from, -days), to: addDays(report.from, -1) };
}

/**
 * @param {Pick<Report, "period" | "from" | "to" | "series">} report
 * @param {Total[] | null} before what is stored of the period before, where it is to be compared with
 * @returns {Slot[]} one an hour for today, one a day for longer periods; also those of which nothing is known yet
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
 * @returns {string | null} the first day of its breakdowns, where that is later than its own; null: it is not
 */
export const firstListed = ({ from, breakdowns_from: first }) => (first !== null && first > from ? first : null);

/** @param {Pick<Report, "series">} report @param {string} from a day @returns {Counts} of its points from there on */
export const sumFrom = ({ series }, from) => sum(series.filter(({ at }) => at >= from));

/**
 * @param {number} most the largest number that is drawn
 * @returns {number[]} round numbers from 0 up to the first that is not below it, at most five
 */
export function scale(most) {
  const power = 10 ** Math.floor(Math.log10(Math.max(most, 1)));
  const step = [0.25, 0.5, 1, 2.5].map((part) => part * power).find((one) => one * 4 >= most && one % 1 === 0);
  const unit = step ?? Math.max(1, Math.ceil(most / 4));
  return Array.from({ length: Math.max(1, Math.ceil(most / unit)) + 1 }, (_, i) => i * unit);
}
