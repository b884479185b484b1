/**
 * The CSV export of the report on the page: the points in the chart and the visible entries in the lists. Pure
 * functions.
 */

/** @typedef {import("./series.js").Slot} Slot */
/** @typedef {{name: string, rows: import("./wire").Top[], source?: string}} List */

const HEADER = [
  ...["list", "key", "views", "visitors", "bots"],
  ...["key_before", "views_before", "visitors_before", "bots_before"],
  "source",
  ...["estimated", "estimated_before"],
];
const EMPTY = HEADER.slice(5, 9).map(() => "");
// If a text begins with one of these characters, a spreadsheet would execute it as a formula.
const FORMULA = /^[=+\-@\t\r]/;

/** @param {string | number | undefined} value @returns {string} a field of RFC 4180 */
function field(value = "") {
  const text = typeof value === "string" && FORMULA.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * @param {Slot[]} slots unknown counts stay empty
 * @param {import("./series.js").Step} by the key of an hour is its time, and the key of a day, week or month is its
 *   first day
 * @param {List[]} lists in the order of the page. `arrivals` are the entry pages of a source
 * @returns {string} a CSV table with a header. The chart has the list name `time`. The value 1 in the last column means
 *   that a part of the counts is an estimate
 */
export function reportCsv(slots, by, lists) {
  /** @param {string | undefined} at */
  const key = (at) => (by === "hour" ? at : at?.slice(0, 10));
  /** @param {import("./series.js").Counts | null} counts */
  const numbers = (counts) => [counts?.views, counts?.visitors, counts?.bots];
  /** @param {import("./series.js").Counts | null} counts */
  const mark = (counts) => counts?.estimated && 1;
  const lines = [
    HEADER,
    ...slots.map(({ at, now, earlier, before }) => [
      ...["time", key(at), ...numbers(now)],
      ...[key(earlier?.at), ...numbers(before), "", mark(now), mark(before)],
    ]),
    ...lists.flatMap(({ name, rows, source }) =>
      rows.map(({ key, n }) => [name, key, ...(name === "bots" ? ["", "", n] : [n, "", ""]), ...EMPTY, source, "", ""]),
    ),
  ];
  return lines.map((line) => `${line.map(field).join(",")}\r\n`).join("");
}
