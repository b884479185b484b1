/**
 * The periods before and after a report's period, and the steps that suit the period. Days are UTC days. Pure
 * functions.
 */

import { addDays } from "./series.js";

/**
 * @typedef {import("./wire").Report} Report
 * @typedef {import("./series.js").Step} Step
 * @typedef {Pick<Report, "period" | "from" | "to">} Shown
 * @typedef {{period: "today" | "7d" | "30d" | "month" | "year" | "12mo"} | {from: string, to: string}} Target
 */

// An hourly chart of more days would have too many bars. By default, the service keeps hourly counts for 40 days.
const MOST_DAYS_BY_HOUR = 7;
const HOURS_KEPT_DAYS = 39;
const MOST_DAYS_BY_DAY = 366;
const MOST_DAYS_BY_WEEK = 5 * 366;
const WEEK = 7;
const MONTH = 31;
/** A year in months. */
const YEAR = 12;

/** @param {string} day @param {number} months @returns {string} first day of the month of `day`, moved by `months` */
export function monthStart(day, months = 0) {
  const at = new Date(`${day.slice(0, 7)}-01`);
  at.setUTCMonth(at.getUTCMonth() + months);
  return at.toISOString().slice(0, 10);
}

/** @param {{from: string, to: string}} days @returns {number} the number of days */
export const lengthOf = ({ from, to }) => Math.round((Date.parse(to) - Date.parse(from)) / 86_400_000) + 1;

/**
 * @param {Shown} shown @param {string} today
 * @returns {number} the number of whole months that the days cover, or 0. A month or year that has not ended counts as
 *   whole if the days end today. Periods with a fixed number of days, such as `7d`, never count as months
 */
export function wholeMonths({ period, from, to }, today) {
  if (["today", "7d", "30d", "yesterday"].includes(period)) return 0;
  if (period === "year") return YEAR;
  const isWhole = from === monthStart(from) && (to === today || addDays(to, 1) === monthStart(addDays(to, 1)));
  return isWhole ? monthNumber(to) - monthNumber(from) + 1 : 0;
}

/** @param {string} day @returns {number} the month as a number; consecutive months have consecutive numbers */
const monthNumber = (day) => 12 * Number(day.slice(0, 4)) + Number(day.slice(5, 7));

/**
 * @param {Shown} shown @param {1 | -1} direction @param {string} today
 * @returns {Target | null} the next (1) or previous (-1) period of the same length; null if there is none
 */
export function stepped(shown, direction, today) {
  if (shown.period === "all") return null;
  const months = wholeMonths(shown, today);
  const days = direction * lengthOf(shown);
  try {
    const from = months ? monthStart(shown.from, direction * months) : addDays(shown.from, days);
    const end = months ? addDays(monthStart(from, months), -1) : addDays(shown.to, days);
    // The service accepts only years with four digits.
    if (from > today || !/^\d{4}-/.test(from) || from < "0001-01-01") return null;
    return named({ from, to: end > today ? today : end }, months !== 0, today);
  } catch {
    return null; // the period is outside of the dates that JavaScript supports
  }
}

/**
 * @param {{from: string, to: string}} days @param {boolean} byMonth @param {string} today
 * @returns {Target} the named period that covers these days today, or the days if no named period does
 */
function named(days, byMonth, today) {
  if (days.to !== today) return days;
  /** @type {[("today" | "7d" | "30d" | "month" | "year" | "12mo"), string][]} */
  const periods = byMonth
    ? [
        ["month", monthStart(today)],
        ["year", `${today.slice(0, 4)}-01-01`],
        ["12mo", monthStart(today, -11)],
      ]
    : [
        ["today", today],
        ["7d", addDays(today, -6)],
        ["30d", addDays(today, -29)],
      ];
  const found = periods.find(([, from]) => from === days.from);
  return found ? { period: found[0] } : days;
}

/**
 * @param {Pick<Report, "from" | "to" | "by">} shown @param {string} today
 * @returns {Step[]} the steps that suit the period, and the report's own step
 */
export function stepsFor({ from, to, by }, today) {
  const length = lengthOf({ from, to });
  /** @type {Record<Step, boolean>} */
  const suits = {
    hour: length <= MOST_DAYS_BY_HOUR && from >= addDays(today, -HOURS_KEPT_DAYS),
    day: length > 1 && length <= MOST_DAYS_BY_DAY,
    week: length > WEEK && length <= MOST_DAYS_BY_WEEK,
    month: length > MONTH,
  };
  return /** @type {Step[]} */ (Object.keys(suits)).filter((step) => suits[step] || step === by);
}
