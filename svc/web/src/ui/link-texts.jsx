/** The fields for the title, tags and note of a link. */

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";

import { ApiError, call } from "../api.js";
import { asUrl } from "../pasted.js";
import { t } from "../words.js";
import { Field } from "./form.jsx";
import { ErrorMessage, issueText } from "./parts.jsx";
import { TagsField } from "./tags.jsx";
import { useWrite } from "./write.js";

/**
 * @template T
 * @typedef {import("@preact/signals").Signal<T>} Signal
 */
/** @typedef {{title: Signal<string>, tags: Signal<string[]>, note: Signal<string>}} Texts */

const MOST_NOTE_LINES = 3;

/** @param {Partial<import("../wire").Link>} [link] @returns {Texts} of the link, or empty */
export const useTexts = ({ title, tags, note } = {}) => ({
  title: useSignal(title ?? ""),
  tags: useSignal(tags ?? []),
  note: useSignal(note ?? ""),
});

/** @param {{texts: Texts, url: Signal<string>}} props `url`: the destination, from which the title can be suggested */
export function TextFields({ texts: { title, tags, note }, url }) {
  const words = t().linkFields;
  return (
    <div class="column wide">
      <TitleField title={title} url={url} />
      <TagsField name="tags" label={words.tags} tags={tags} optional />
      <Field
        name="note"
        label={words.note}
        hint={words.noteHint}
        optional
        area
        rows={MOST_NOTE_LINES}
        autoCapitalize="sentences"
        spellcheck
        dir="auto"
        value={note.value}
        onInput={(/** @type {any} */ event) => (note.value = event.currentTarget.value)}
      />
    </div>
  );
}

/**
 * @param {{title: Signal<string>, url: Signal<string>}} props a button asks the service to read the title of the
 *   destination
 */
function TitleField({ title, url }) {
  const words = t().linkFields;
  const said = useSignal("");
  const place = useRef(/** @type {HTMLDivElement | null} */ (null));
  const { busy, error, run } = useWrite();
  const suggest = () => {
    said.value = "";
    if (url.value.trim() === "") return void (said.value = words.urlFirst);
    const [askedUrl, oldTitle] = [url.value, title.value];
    return run(async (key) => {
      const { title: found } = await call("POST /v1/links/title", { body: { url: asUrl(askedUrl) }, key });
      // The user has changed the destination or the title since the request, so do not replace the title.
      if (url.value !== askedUrl || title.value !== oldTitle) return;
      said.value = found ? words.suggested : words.noTitle;
      const input = place.current?.querySelector("input");
      if (!found || !input) return;
      // Set the value as if the user had typed it, so that the form registers the edit.
      input.value = found;
      input.dispatchEvent(new Event("input", { bubbles: true }));
    }, askedUrl);
  };
  return (
    <div ref={place}>
      <Field
        name="title"
        label={words.title}
        hint={words.titleHint}
        optional
        autocomplete="off"
        autoCapitalize="sentences"
        spellcheck
        dir="auto"
        value={title.value}
        onInput={(/** @type {any} */ event) => (title.value = event.currentTarget.value)}
      />
      {error && <Problem error={error} />}
      <p class="actions">
        <button type="button" class="quiet" aria-disabled={busy} onClick={suggest}>
          {busy ? t().common.busy : words.suggest}
        </button>
        <span role="status">{said.value}</span>
      </p>
    </div>
  );
}

/** @param {{error: ApiError}} props */
const Problem = ({ error }) =>
  error.issues.length > 0 ? (
    <ErrorMessage own error={new ApiError(error.code, error.issues.map(issueText).join(" "))} />
  ) : (
    <ErrorMessage error={error} />
  );
