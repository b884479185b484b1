/** Names of the hours, days, weeks and months in a report. All are in UTC. */

import { day, days, hour, localHour, longDay, month } from "./format.js";
import { addDays, weekNumber } from "./series.js";
import { t } from "./words.js";

/**
 * @typedef {import("./series.js").Part} Part
 * @typedef {import("./series.js").Step} Step
 */

/**
 * @param {Part} part @param {Step} by
 * @returns {string} such as "Nov 21, 14:00", "Nov 21, 2026", "Week 47: Nov 16 – 22, 2026" or "Nov 2026" (the days if
 *   the report does not cover the whole month); for places labeled as UTC
 */
export function partTitle({ at, end }, by) {
  if (by === "hour") return `${day(at)}, ${hour(at)}`;
  if (by === "month" && [at, end].every((edge) => edge.slice(8, 10) === "01")) return month(at);
  const shown = days(at.slice(0, 10), addDays(end.slice(0, 10), -1), true);
  return by === "week" ? `${t().report.week(weekNumber(at))}: ${shown}` : shown;
}

/**
 * @param {Part} part @param {Step} by
 * @returns {string} the name from `partTitle` with "UTC"; for an hour, also the time in the user's time zone; for a
 *   day, also the weekday
 */
export function partName(part, by) {
  if (by === "day") return longDay(part.at);
  return `${partTitle(part, by)} UTC${by === "hour" ? ` (${localHour(part.at)})` : ""}`;
}
