/** The period, the step and the comparison in the URL of a report. Pure functions. */

/**
 * @typedef {import("./wire").Report} Report
 * @typedef {import("./wire").Calls["GET /v1/sites/{site_id}/report"]["params"]} Params
 * @typedef {Pick<Params, "period" | "from" | "to" | "by">} Range
 */

/**
 * The default steps of these periods. The API returns its newer report fields for these periods only if the request has
 * a step.
 * @type {Record<string, Params["by"]>}
 */
const STEPS = { today: "hour", "7d": "day", "30d": "day" };

/** The parameters of the URL that this module reads. */
const NAMES = ["period", "from", "to", "by", "compare"];

/**
 * Read the parameters of a report from the URL without checking them: the service rejects invalid values, and the page
 * shows the error.
 * @param {URLSearchParams} search
 * @returns {Range} by default, the last seven days
 */
export function rangeOf(search) {
  /** @param {string} name */
  const value = (name) => /** @type {any} */ (search.get(name) || undefined);
  const { from, to } = { from: value("from"), to: value("to") };
  const period = value("period") ?? (from || to ? undefined : "7d");
  return { period, from, to, by: value("by") ?? (from || to ? undefined : STEPS[period]) };
}

/**
 * @param {URLSearchParams} search
 * @returns {Params["compare"]} the comparison in the URL; by default, the previous period. The period "all" has no
 *   comparison.
 */
export function comparisonOf(search) {
  const value = search.get("compare") || "previous";
  return value === "off" || search.get("period") === "all" ? undefined : /** @type {Params["compare"]} */ (value);
}

/**
 * @param {URLSearchParams} search
 * @param {Record<string, string | undefined>} changes undefined removes a parameter
 * @returns {string} the query of the URL after the changes, with "?"
 */
export function changed(search, changes) {
  const query = new URLSearchParams(search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) query.delete(name);
    else query.set(name, value);
  }
  return `?${query}`;
}

/**
 * @param {URLSearchParams} search
 * @param {Pick<Range, "period" | "from" | "to">} range
 * @returns {string} the query of the URL for another period, with the same comparison and the default step
 */
export const withRange = (search, range) =>
  changed(search, { period: undefined, from: undefined, to: undefined, by: undefined, ...range });

/** @param {URLSearchParams} search @returns {string} the query of the URL without a period, step or comparison */
export const withoutRange = (search) => changed(search, Object.fromEntries(NAMES.map((name) => [name, undefined])));
