/** Tables of objects. j and k move between the rows; Enter opens the focused row. */

import { useKeys } from "../keys.js";
import { t } from "../words.js";

/** @typedef {import("preact").ComponentChildren} Children */

/**
 * Move the focus to another row, across all tables on the page.
 * @param {number} step
 */
function move(step) {
  const links = [...document.querySelectorAll(".rows tbody tr")].map((row) => row.querySelector("a, button"));
  const at = links.findIndex((link) => link?.closest("tr")?.contains(document.activeElement));
  const next = at < 0 ? (step > 0 ? 0 : links.length - 1) : Math.min(links.length - 1, Math.max(0, at + step));
  const link = links[next];
  if (link instanceof HTMLElement) link.focus();
}

/**
 * @template T
 * @typedef {object} Column
 * @property {string} label
 * @property {"number" | "number primary" | "primary" | "bare"} [kind] `number`: align right. In a narrow table,
 *   `primary` is on the first line, next to the name, and `bare` is below it without its label.
 * @property {(row: T) => Children} cell
 */

/**
 * @template T
 * @typedef {object} Choosing
 * @property {string} label the name of the column
 * @property {(row: T) => string} name the name of a row's checkbox
 * @property {(row: T) => boolean} isChosen
 * @property {(row: T) => void} toggle
 */

/**
 * A table whose rows have two lines if it is narrow. A click anywhere in a row follows the link in its first cell.
 * j and k focus this link.
 * @template T
 * @param {{label: string, columns: Column<T>[], rows: T[], id: (row: T) => string, choosing?: Choosing<T>}} props the
 *   first column is the row header; `choosing`: adds a checkbox to each row
 */
export function DataTable({ label, columns, rows, id, choosing }) {
  useKeys([
    { keys: "j", says: t().common.shortcuts.next, does: () => move(1) },
    { keys: "k", says: t().common.shortcuts.previous, does: () => move(-1) },
  ]);
  return (
    <div class="table">
      <table class="rows" aria-label={label}>
        <thead>
          <tr>
            {choosing && (
              <th scope="col">
                <span class="unseen">{choosing.label}</span>
              </th>
            )}
            {columns.map(({ label, kind }) => (
              <th key={label} scope="col" class={kind}>
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={id(row)}>
              {choosing && (
                <td class="choose">
                  <input
                    type="checkbox"
                    aria-label={choosing.name(row)}
                    checked={choosing.isChosen(row)}
                    onChange={() => choosing.toggle(row)}
                  />
                </td>
              )}
              {columns.map(({ label, kind, cell }, i) =>
                i === 0 ? (
                  <th key={label} scope="row">
                    {cell(row)}
                  </th>
                ) : (
                  <td key={label} class={kind} data-label={label}>
                    {cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
