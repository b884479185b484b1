/** The bar above the list of links: the selection, its actions and their results. */

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { call } from "../api.js";
import { changed } from "../resource.js";
import { t } from "../words.js";
import { DeleteLinks, Refused, TagsDialog } from "./bulk-dialogs.jsx";
import { ErrorMessage } from "./parts.jsx";
import { useWrite } from "./write.js";

/**
 * @typedef {import("../selection.js").Selection} Selection
 * @typedef {import("./bulk-dialogs.jsx").Outcome} Outcome
 * @typedef {{text: string, outcome?: Outcome, undo?: string[]}} Notice `undo`: the ids of links to restore
 */

/** The service restores one link per request, so undo is offered for at most one page of links. */
const MOST_UNDONE = 50;

/**
 * @param {{selection: Selection, count: number, hasMore: boolean}} props `count`: the number of links that are shown;
 *   `hasMore`: true if the list has more links
 */
export function SelectionBar({ selection, count, hasMore }) {
  const words = t().linkActions;
  const open = useSignal(/** @type {"add" | "remove" | "delete" | null} */ (null));
  const notice = useSignal(/** @type {Notice | null} */ (null));
  const box = useRef(/** @type {HTMLInputElement | null} */ (null));
  const { chosen, isAll, isEmpty } = selection;
  const all = chosen.length === count;
  useEffect(() => {
    if (box.current) box.current.indeterminate = !isEmpty && !all;
  });
  const close = () => (open.value = null);
  /** @param {string} text @param {Outcome} outcome @param {string[]} [undo] */
  const done = (text, outcome, undo = []) => {
    close();
    selection.clear();
    notice.value = { text, outcome, undo: undo.length <= MOST_UNDONE ? undo : [] };
    changed("/v1/links", "/v1/tags");
  };
  return (
    <>
      {count > 0 && (
        <div class="selection" role="group" aria-label={words.selection}>
          <label class="check">
            <input
              ref={box}
              type="checkbox"
              checked={all}
              onChange={(event) => selection.showAll(event.currentTarget.checked)}
            />
            <span>{words.selectShown}</span>
          </label>
          <span role="status">{isEmpty ? "" : isAll ? words.allSelected : words.selected(chosen.length)}</span>
          {!isEmpty && (
            <>
              {all && hasMore && !isAll && (
                <button type="button" class="link" onClick={selection.extend}>
                  {words.selectAll}
                </button>
              )}
              <button type="button" class="quiet" onClick={() => (open.value = "add")}>
                {words.addTags}
              </button>
              <button type="button" class="quiet" onClick={() => (open.value = "remove")}>
                {words.removeTags}
              </button>
              <button type="button" class="quiet" onClick={() => (open.value = "delete")}>
                {words.delete}
              </button>
              <button type="button" class="link" onClick={selection.clear}>
                {words.clear}
              </button>
            </>
          )}
        </div>
      )}
      {(open.value === "add" || open.value === "remove") && (
        <TagsDialog
          kind={open.value}
          target={selection.target}
          known={
            open.value === "remove" && !isAll ? [...new Set(chosen.flatMap(({ tags }) => tags))].sort() : undefined
          }
          close={close}
          done={(outcome) => done(words.changed(outcome.ids.length), outcome)}
        />
      )}
      {open.value === "delete" && (
        <DeleteLinks
          target={selection.target}
          close={close}
          done={(outcome) => done(words.deleted(outcome.ids.length), outcome, outcome.ids)}
        />
      )}
      <Result notice={notice} />
    </>
  );
}

/** @param {{notice: import("@preact/signals").Signal<Notice | null>}} props the result of the last action */
export function Result({ notice }) {
  const words = t().linkActions;
  const { busy, error, run } = useWrite();
  const { text = "", outcome, undo = [] } = notice.value ?? {};
  const restore = () =>
    run(async () => {
      let restored = 0;
      try {
        for (const link_id of undo) {
          await call("POST /v1/links/{link_id}/restore", { link_id, body: {} });
          restored += 1;
        }
      } finally {
        changed("/v1/links", "/v1/tags");
        // After an error, a retry restores only the links that were not restored yet.
        notice.value = { text: words.restored(restored), undo: undo.slice(restored) };
      }
    });
  return (
    <div class={text ? "note good" : undefined}>
      <p role="status">{text}</p>
      {outcome && outcome.refused.length > 0 && <Refused refused={outcome.refused} />}
      {error && <ErrorMessage error={error} />}
      {undo.length > 0 && (
        <p class="actions">
          <button type="button" class="quiet" aria-disabled={busy} onClick={restore}>
            {busy ? t().common.busy : words.undo}
          </button>
        </p>
      )}
    </div>
  );
}
