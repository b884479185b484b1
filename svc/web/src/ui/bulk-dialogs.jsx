/**
 * The dialogs that change or delete several links. Each first shows how many links the action would affect, and then
 * affects only these, even if more links match the filter by then.
 */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { ApiError, call } from "../api.js";
import { inBatches } from "../batches.js";
import { list } from "../format.js";
import { changed } from "../resource.js";
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
 * @typedef {import("../wire").LinkOutcomes["results"][number]} LinkOutcome
 */

/** The number of refused links that are listed. */
const FEW = 5;

/** @param {Pick<import("../wire").LinkOutcomes, "results">} response @returns {Outcome} */
const outcomeOf = ({ results }) => ({
  ids: results.flatMap(({ id, changed }) => (changed ? [id] : [])),
  refused: results.flatMap(({ id, code = id, error }) => (error ? [{ code, error }] : [])),
});

/**
 * Prepare the action for the links of a dry run. After an error, a retry continues with the links that remain.
 * @param {Outcome} checked the result of the dry run
 * @returns {(send: (ids: string[], key: string) => Promise<{results: LinkOutcome[]}>, key: string) => Promise<Outcome>}
 *   `send`: sends one request, whose Idempotency-Key is derived from `key`
 */
function confirmed({ ids, refused }) {
  const parts = /** @type {ReturnType<typeof inBatches<LinkOutcome>>} */ (inBatches(ids));
  return async (send, key) => {
    const results = await parts(async (some, part) => {
      // If this request fails, the list must show the result of the earlier requests.
      if (part > 0) changed("/v1/links", "/v1/tags");
      return (await send(some, `${key}-${part}`)).results;
    });
    const outcome = outcomeOf({ results });
    return { ids: outcome.ids, refused: [...refused, ...outcome.refused] };
  };
}

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
  const checked = useSignal(
    /** @type {{tags: string[], outcome: Outcome, apply: ReturnType<typeof confirmed>} | null} */ (null),
  );
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
          /** @param {Target} links @param {boolean} dry_run @param {string} key */
          const send = (links, dry_run, key) =>
            call("PATCH /v1/links/bulk", { body: { ...links, ...change, dry_run }, key });
          if (checked.value && checked.value.tags === tags.value && count > 0) {
            done(await checked.value.apply((ids, key) => send({ ids }, false, key), key));
          } else {
            const result = outcomeOf(await send(target, true, key));
            checked.value = { tags: tags.value, outcome: result, apply: confirmed(result) };
          }
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
  const checked = useSignal(/** @type {{outcome: Outcome, apply: ReturnType<typeof confirmed>} | null} */ (null));
  const { error, run } = useWrite();
  const check = () =>
    run(async (key) => {
      const outcome = outcomeOf(await call("DELETE /v1/links/bulk", { body: { ...target, dry_run: true }, key }));
      checked.value = { outcome, apply: confirmed(outcome) };
    });
  useEffect(() => void check(), []);
  const { outcome = null, apply } = checked.value ?? {};
  if (outcome === null || apply === undefined || outcome.ids.length === 0) {
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
        done(await apply((ids, key) => call("DELETE /v1/links/bulk", { body: { ids, dry_run: false }, key }), key))
      }
    >
      <p>{words.deleteText}</p>
      {outcome.refused.length > 0 && <Refused refused={outcome.refused} />}
    </Confirm>
  );
}
