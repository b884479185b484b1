/** The names of the hours, days, weeks and months of a report. All are in UTC. */

import { day, days, hour, localHour, longDay, month } from "./format.js";
import { addDays, weekNumber } from "./series.js";
import { t } from "./words.js";

/**
 * @typedef {import("./series.js").Part} Part
 * @typedef {import("./series.js").Step} Step
 */

/**
 * @param {Part} part @param {Step} by
 * @returns {string} Nov 21, 14:00; Nov 21, 2026; Week 47: Nov 16 – 22, 2026; Nov 2026, or the days if the report does
 *   not have all of the month. For places labelled as UTC
 */
export function partTitle({ at, end }, by) {
  if (by === "hour") return `${day(at)}, ${hour(at)}`;
  if (by === "month" && [at, end].every((edge) => edge.slice(8, 10) === "01")) return month(at);
  const shown = days(at.slice(0, 10), addDays(end.slice(0, 10), -1), true);
  return by === "week" ? `${t().report.week(weekNumber(at))}: ${shown}` : shown;
}

/**
 * @param {Part} part @param {Step} by
 * @returns {string} the same with UTC, the time in the reader's time zone for an hour, and the weekday for a day
 */
export function partName(part, by) {
  if (by === "day") return longDay(part.at);
  return `${partTitle(part, by)} UTC${by === "hour" ? ` (${localHour(part.at)})` : ""}`;
}
