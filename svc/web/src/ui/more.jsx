/** Paginated lists. */

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { t } from "../words.js";
import { ErrorMessage } from "./parts.jsx";
import { useWrite } from "./write.js";

/** Rows per page. */
export const PAGE = 50;
/** The minimum number of rows for which a list has filters. */
export const FILTERS_FROM = 10;

/**
 * Return the rows of the first page, and of the later pages that the user has loaded.
 * @template {{id: string}} T
 * @template {{next_cursor?: string | undefined}} P
 * @param {{
 *   read: import("../resource.js").Read<P>,
 *   asked: string,
 *   rows: (page: P) => T[],
 *   next: (cursor: string) => Promise<P>,
 * }} list `read`: the first page; `asked`: identifies the query; `next`: loads the next page
 * @returns {{rows: T[], begin: () => void, more: import("preact").JSX.Element | null}} `begin`: reloads the list;
 *   `more`: the button below the rows
 */
export function useMore({ read, asked, rows, next }) {
  const first = read.data ? rows(read.data) : [];
  // Discard the later pages after a write, because only the first page is read again. Also discard them if the first
  // page has changed, because rows between it and the later pages may be missing.
  const list = `${asked} ${read.changes ?? 0} ${first.at(-1)?.id}`;
  const further = useSignal({ list, pages: /** @type {P[]} */ ([]), from: 0 });
  const shown = useRef(list);
  shown.current = list;
  const pages = further.value.list === list ? further.value.pages : [];
  // A row that has moved between two reads must appear only once.
  const all = [...new Map([...first, ...pages.flatMap(rows)].map((row) => [row.id, row])).values()];
  const begin = () => {
    further.value = { list, pages: [], from: 0 };
    read.again();
  };
  // Focus the first new row, because the focused button was replaced.
  useEffect(() => {
    if (pages.length > 0) focusRow(further.peek().from);
  }, [pages.length]);
  const cursor = read.loading ? undefined : (pages.at(-1) ?? read.data)?.next_cursor;
  const show = async () => {
    if (!cursor) return;
    const page = await next(cursor);
    if (shown.current === list) further.value = { list, pages: [...pages, page], from: all.length };
  };
  return { rows: all, begin, more: cursor ? <More key={list} show={show} begin={begin} /> : null };
}

/** @param {{show: () => Promise<void>, begin: () => void}} props */
function More({ show, begin }) {
  const { busy, error, run } = useWrite();
  return (
    <>
      {error && <ErrorMessage error={error} again={begin} />}
      <p class="actions">
        <button type="button" class="quiet" aria-disabled={busy} onClick={() => run(show)}>
          {busy ? t().common.busy : t().common.more(PAGE)}
        </button>
      </p>
    </>
  );
}

/** @param {number} at */
function focusRow(at) {
  const name = document.querySelectorAll(".rows tbody th")[at];
  const taker = name?.querySelector("a") ?? name;
  if (!(taker instanceof HTMLElement)) return;
  if (taker === name) taker.tabIndex = -1;
  taker.focus();
}
