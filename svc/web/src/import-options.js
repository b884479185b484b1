/** Reads the options of links from columns or JSON keys that have the names of the fields in the API. */

import { EDGE_ACCOUNT, OPTIONS, PERIOD, STATE, TRUE, UNSET } from "./import-columns.js";

/**
 * @typedef {{forward_query?: any, after_url?: string, split?: any, starts_at?: string, ends_at?: string}} Options the
 *   options in a request; the service validates them
 */

/** @param {string[]} names normalized @returns {boolean} true for an export of this service, which has exact dates */
export const isOwnExport = (names) => names.includes(EDGE_ACCOUNT) && names.includes(STATE);

/**
 * @param {string} field @param {string} text @returns {unknown} the value for the API; invalid text is returned
 *   unchanged, so that the service reports it
 */
function valueOf(field, text) {
  if (field === "forward_query") return TRUE.includes(text.toLowerCase()) || text;
  if (field !== "split") return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * @param {string[]} names normalized column names
 * @returns {(fields: string[]) => Options} a function that returns the non-empty options of a row
 */
export function options(names) {
  const places = [...OPTIONS, ...(isOwnExport(names) ? PERIOD : [])].flatMap(([name, field]) =>
    names.includes(name) ? [{ field, place: names.indexOf(name) }] : [],
  );
  return (fields) =>
    Object.fromEntries(
      places.flatMap(({ field, place }) => {
        const text = fields[place] ?? "";
        return UNSET.includes(text.toLowerCase()) ? [] : [[field, valueOf(field, text)]];
      }),
    );
}
