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
 * A table whose rows have two lines if it is narrow. A click anywhere in a row follows the link in its first cell.
 * j and k focus this link.
 * @template T
 * @param {{
 *   label: string,
 *   columns: {label: string, number?: boolean, cell: (row: T) => Children}[],
 *   rows: T[],
 *   id: (row: T) => string,
 * }} props the first column is the row header; `number`: align right
 */
export function Rows({ label, columns, rows, id }) {
  useKeys([
    { keys: "j", says: t().common.shortcuts.next, does: () => move(1) },
    { keys: "k", says: t().common.shortcuts.previous, does: () => move(-1) },
  ]);
  return (
    <div class="table">
      <table class="rows" aria-label={label}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.label} scope="col" class={column.number ? "number" : undefined}>
                {column.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={id(row)}>
              {columns.map((column, i) => (
                <Cell key={column.label} first={i === 0} label={column.label} number={column.number ?? false}>
                  {column.cell(row)}
                </Cell>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** @param {{first: boolean, label: string, number: boolean, children: Children}} props */
function Cell({ first, label, number, children }) {
  if (first) return <th scope="row">{children}</th>;
  return (
    <td class={number ? "number" : undefined} data-label={label}>
      {children}
    </td>
  );
}
