/** Lines that an import did not accept, written in a form that can be imported again. Pure functions. */

import { CODE_LENGTH } from "./import-columns.js";

/**
 * @typedef {import("./import-lines.js").Row} Row
 * @typedef {import("./import-lines.js").Restriction} Restriction
 * @typedef {{line: number, text: string, row?: Row, restriction?: Restriction, reason: string}} Unaccepted
 */

/**
 * @param {string | null} code
 * @returns {"shortCode" | "longCode" | "wrongCode" | null} the reason why the service would reject the code; null if
 *   none is known
 */
export function codeFault(code) {
  if (code === null) return null;
  if (!/^[A-Za-z0-9_-]*$/.test(code)) return "wrongCode";
  if (code.length < CODE_LENGTH.min) return "shortCode";
  return code.length > CODE_LENGTH.max ? "longCode" : null;
}

/**
 * The columns that mark a restriction, if their names differ from it.
 * @type {Partial<Record<Restriction, Record<string, string>>>}
 */
const MARKS = { "visit-limit": { visit_limit: "true" }, unclear: { expires: "unclear" } };

/**
 * @param {{row: Row, restriction?: Restriction}} line
 * @returns {Record<string, unknown>} JSON keys or columns, with their values, that `readLines` reads as this line
 */
const recordOf = ({ row, restriction }) => ({
  ...row,
  ...(restriction && (MARKS[restriction] ?? { [restriction]: "true" })),
});

/** @param {{row: Row, restriction?: Restriction}[]} lines @returns {string} JSON Lines that can be imported again */
export const asJsonLines = (lines) => lines.map((line) => JSON.stringify(recordOf(line))).join("\n");

/** @param {unknown} value @returns {string} a field of a CSV file (RFC 4180), quoted if necessary */
function cell(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * @param {Unaccepted[]} lines
 * @returns {string} a CSV file that can be corrected and imported again. If a line has no URL and code, the column
 *   `text` contains the line
 */
export function unacceptedCsv(lines) {
  /** @type {Record<string, unknown>[]} */
  const records = lines.map(({ line, text, row, restriction, reason }) => ({
    line,
    ...(row ? recordOf({ row, ...(restriction && { restriction }) }) : { text }),
    reason,
  }));
  const usual = ["line", "url", "code", "rules", "text", "reason"];
  const others = new Set(records.flatMap((record) => Object.keys(record)).filter((name) => !usual.includes(name)));
  const columns = usual.toSpliced(usual.indexOf("text"), 0, ...others);
  return [columns, ...records.map((record) => columns.map((name) => record[name] ?? ""))]
    .map((fields) => `${fields.map(cell).join(",")}\r\n`)
    .join("");
}
