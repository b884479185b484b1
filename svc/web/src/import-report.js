/** CSV files with the lines that an import did not accept, and the reason for each line. Pure functions. */

import { CODE_LENGTH } from "./import-columns.js";

/**
 * @typedef {import("./import-lines.js").Row} Row
 * @typedef {{line: number, text: string, row?: Row, reason: string}} Unaccepted
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

/** @param {string} value @returns {string} a field of a CSV file (RFC 4180), quoted if necessary */
const cell = (value) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);

/**
 * @param {Unaccepted[]} lines
 * @returns {string} a CSV file that can be corrected and imported again. If a line has no URL and code, the column
 *   `text` contains the line
 */
export function unacceptedCsv(lines) {
  const rows = lines.map(({ line, text, row, reason }) => [
    `${line}`,
    row?.url ?? "",
    row?.code ?? "",
    row?.rules ? JSON.stringify(row.rules) : "",
    row ? "" : text,
    reason,
  ]);
  return [["line", "url", "code", "rules", "text", "reason"], ...rows]
    .map((fields) => `${fields.map(cell).join(",")}\r\n`)
    .join("");
}
