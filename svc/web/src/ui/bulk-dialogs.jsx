/** The dialogs that change or delete several links. Each first shows how many links the action would affect. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { ApiError, call } from "../api.js";
import { list } from "../format.js";
import { withTags } from "../tags.js";
import { t } from "../words.js";
import { Confirm, Dialog } from "./dialog.jsx";
import { Form } from "./form.jsx";
import { ErrorMessage, explain, Skeleton } from "./parts.jsx";
import { TagsField } from "./tags.jsx";
import { useWrite } from "./write.js";

/**
 * @typedef {import("../selection.js").Target} Target
 * @typedef {import("../wire").ErrorObject} ErrorObject
 * @typedef {{code: string, error: ErrorObject}} RefusedLink `code`: the link's code, or its id
 * @typedef {{ids: string[], refused: RefusedLink[]}} Outcome `ids`: the links that the action affects
 */

/** The number of refused links that are listed. */
const FEW = 5;

/** @param {import("../wire").LinkOutcomes} response @returns {Outcome} */
const outcomeOf = ({ results }) => ({
  ids: results.flatMap(({ id, changed }) => (changed ? [id] : [])),
  refused: results.flatMap(({ id, code = id, error }) => (error ? [{ code, error }] : [])),
});

/** @param {{refused: RefusedLink[]}} props */
export function Refused({ refused }) {
  const words = t().linkActions;
  return (
    <>
      <p>{words.refused(refused.length)}</p>
      <ul>
        {refused.slice(0, FEW).map(({ code, error }) => (
          <li key={code}>
            <code>{code}</code>: {explain(error).message}
          </li>
        ))}
        {refused.length > FEW && <li>…</li>}
      </ul>
    </>
  );
}

/** @param {{close: () => void}} props */
const Cancel = ({ close }) => (
  <button type="button" class="quiet" onClick={close}>
    {t().common.cancel}
  </button>
);

/**
 * @param {{
 *   kind: "add" | "remove",
 *   target: Target,
 *   known: string[] | undefined,
 *   close: () => void,
 *   done: (outcome: Outcome) => void,
 * }} props `known`: the tags to offer, see `TagsField`
 */
export function TagsDialog({ kind, target, known, close, done }) {
  const words = t().linkActions;
  const tags = useSignal(/** @type {string[]} */ ([]));
  /** The result of the dry run, and the tags for which it was made. */
  const checked = useSignal(/** @type {{tags: string[], outcome: Outcome} | null} */ (null));
  const outcome = checked.value?.tags === tags.value ? checked.value.outcome : null;
  const count = outcome?.ids.length ?? 0;
  return (
    <Dialog title={kind === "add" ? words.addTags : words.removeTags} close={close}>
      <Form
        submit={count === 0 ? words.continue : kind === "add" ? words.addTo(count) : words.removeFrom(count)}
        more={<Cancel close={close} />}
        guard={false}
        send={async ({ tags: typed = "" }, key) => {
          tags.value = typed === "" ? tags.value : withTags(tags.value, typed);
          if (tags.value.length === 0) {
            const issues = [{ path: "tags", code: "required", message: "" }];
            throw new ApiError("invalid_request", "", { details: { issues } });
          }
          const change = kind === "add" ? { add_tags: tags.value } : { remove_tags: tags.value };
          const dry_run = count === 0;
          const body = { ...target, ...change, dry_run };
          const result = outcomeOf(await call("PATCH /v1/links/bulk", { body, key }));
          if (dry_run) checked.value = { tags: tags.value, outcome: result };
          else done(result);
        }}
      >
        <TagsField name="tags" label={t().linkFields.tags} tags={tags} {...(known && { known })} />
        <div role="status">
          {outcome && (
            <p>
              {count === 0
                ? words.none
                : (kind === "add" ? words.wouldAdd : words.wouldRemove)(list(tags.value), count)}
            </p>
          )}
          {outcome && outcome.refused.length > 0 && <Refused refused={outcome.refused} />}
        </div>
      </Form>
    </Dialog>
  );
}

/** @param {{target: Target, close: () => void, done: (outcome: Outcome) => void}} props */
export function DeleteLinks({ target, close, done }) {
  const words = t().linkActions;
  const checked = useSignal(/** @type {Outcome | null} */ (null));
  const { error, run } = useWrite();
  const check = () =>
    run(async (key) => {
      checked.value = outcomeOf(await call("DELETE /v1/links/bulk", { body: { ...target, dry_run: true }, key }));
    });
  useEffect(() => void check(), []);
  const outcome = checked.value;
  if (outcome === null || outcome.ids.length === 0) {
    return (
      <Dialog key="check" title={words.delete} close={close}>
        {error ? (
          <ErrorMessage error={error} again={check} />
        ) : outcome === null ? (
          <Skeleton rows={2} />
        ) : (
          <>
            <p role="status">{words.none}</p>
            <Refused refused={outcome.refused} />
          </>
        )}
        <p class="actions">
          <button type="button" class="quiet" data-first onClick={close}>
            {t().common.cancel}
          </button>
        </p>
      </Dialog>
    );
  }
  const count = outcome.ids.length;
  return (
    <Confirm
      key="confirm"
      title={words.deleteTitle(count)}
      submit={words.deleteThem(count)}
      typed={`${count}`}
      close={close}
      send={async (key) =>
        done(outcomeOf(await call("DELETE /v1/links/bulk", { body: { ...target, dry_run: false }, key })))
      }
    >
      <p>{words.deleteText}</p>
      {outcome.refused.length > 0 && <Refused refused={outcome.refused} />}
    </Confirm>
  );
}
