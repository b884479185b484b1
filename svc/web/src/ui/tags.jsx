/** Tags of links: as links to the filtered list, and as a field. */

import { useSignal } from "@preact/signals";
import { useId, useRef } from "preact/hooks";

import { useResource } from "../resource.js";
import { withTags, withoutTag } from "../tags.js";
import { t } from "../words.js";
import { Field } from "./form.jsx";

/** @param {string} tag @returns {string} the page with the links that have the tag */
export const tagged = (tag) => `/links?tag=${encodeURIComponent(tag)}`;

/** @param {{tags: string[]}} props */
export const TagLinks = ({ tags }) =>
  tags.length > 0 ? (
    <ul class="tags" aria-label={t().linkFields.tags}>
      {tags.map((tag) => (
        <li key={tag}>
          <a class="link-tag" href={tagged(tag)}>
            {tag}
          </a>
        </li>
      ))}
    </ul>
  ) : null;

/**
 * A field for tags. It offers the user's tags. The field contains only the tag that the user is typing.
 * @param {{
 *   name: string,
 *   label: string,
 *   tags: import("@preact/signals").Signal<string[]>,
 *   optional?: boolean,
 *   known?: string[],
 * }} props `known`: the tags to offer; by default, all tags of the user
 */
export function TagsField({ name, label, tags, optional = false, known }) {
  const words = t().linkFields;
  const id = useId();
  const all = useResource("GET /v1/tags", known ? null : {});
  const typed = useSignal("");
  const place = useRef(/** @type {HTMLDivElement | null} */ (null));
  /** @returns {HTMLInputElement | null | undefined} */
  const field = () => place.current?.querySelector("input");
  /** Store the tags and notify the form of the edit. @param {string[]} next */
  const set = (next) => {
    tags.value = next;
    const input = field();
    if (!input) return;
    input.value = "";
    input.dispatchEvent(new Event("input", { bubbles: true }));
  };
  /** @param {string} text */
  const add = (text) => set(withTags(tags.value, text));
  const offered = (known ?? (all.data?.tags ?? []).map(({ tag }) => tag)).filter((tag) => !tags.value.includes(tag));
  return (
    <div class="tags-field" ref={place}>
      <Field
        name={name}
        label={label}
        hint={words.tagsHint}
        optional={optional}
        autocomplete="off"
        list={`${id}-known`}
        value={typed.value}
        onInput={(/** @type {import("preact").TargetedEvent<HTMLInputElement>} */ { currentTarget: { value } }) => {
          if (value.includes(",")) add(value);
          else typed.value = value;
        }}
        onKeyDown={(/** @type {KeyboardEvent} */ event) => {
          if (event.key === "Backspace" && typed.value === "" && tags.value.length > 0) set(tags.value.slice(0, -1));
          if (event.key !== "Enter" || event.ctrlKey || event.metaKey || typed.value.trim() === "") return;
          event.preventDefault();
          add(typed.value);
        }}
        onBlur={() => typed.value.trim() !== "" && add(typed.value)}
      />
      <datalist id={`${id}-known`}>
        {offered.map((tag) => (
          <option key={tag} value={tag} />
        ))}
      </datalist>
      {tags.value.length > 0 && (
        <ul class="tags" aria-label={label}>
          {tags.value.map((tag) => (
            <li key={tag} class="link-tag">
              <bdi>{tag}</bdi>
              <button
                type="button"
                class="link"
                aria-label={words.removeTag(tag)}
                title={words.removeTag(tag)}
                onClick={() => {
                  set(withoutTag(tags.value, tag));
                  field()?.focus();
                }}
              >
                <span aria-hidden="true">✕</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
