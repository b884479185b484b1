/** The CSV export of a report as it is shown: the points of the chart and the entries of the lists. Pure functions. */

/** @typedef {import("./series.js").Slot} Slot */
/** @typedef {{name: string, rows: import("./wire").Top[]}} List */

const HEADER = ["list", "key", "views", "visitors", "bots", "views_before"];
// A spreadsheet would run a text that begins with one of these characters as a formula.
const FORMULA = /^[=+\-@\t\r]/;

/** @param {string | number | undefined} value @returns {string} a field of RFC 4180 */
function field(value = "") {
  const text = typeof value === "string" && FORMULA.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * @param {Slot[]} slots unknown counts stay empty
 * @param {List[]} lists in the order of the page
 * @returns {string} a CSV table with a header. The chart has the list name `time`
 */
export function reportCsv(slots, lists) {
  const lines = [
    HEADER,
    ...slots.map(({ at, now, before }) => ["time", at, now?.views, now?.visitors, now?.bots, before?.views]),
    ...lists.flatMap(({ name, rows }) =>
      rows.map(({ key, n }) => (name === "bots" ? [name, key, "", "", n, ""] : [name, key, n, "", "", ""])),
    ),
  ];
  return lines.map((line) => `${line.map(field).join(",")}\r\n`).join("");
}
