/** The fields for the title, tags and note of a link. */

import { useSignal } from "@preact/signals";

import { t } from "../words.js";
import { Field } from "./form.jsx";
import { TagsField } from "./tags.jsx";

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

/** @param {{texts: Texts}} props */
export function TextFields({ texts: { title, tags, note } }) {
  const words = t().linkFields;
  return (
    <div class="column wide">
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
