/** A button that shows the chosen values in words, and opens a panel with a checkbox for each value. */

import { useSignal } from "@preact/signals";
import { useId, useLayoutEffect, useRef } from "preact/hooks";

import { t } from "../words.js";

/**
 * @typedef {{code: string, name: string}} Option
 * @typedef {{name: string, codes: string[]}} OptionGroup
 * @typedef {{
 *   find?: string,
 *   none?: string,
 *   clear: string,
 *   groupsOf?: string,
 * }} PickerWords `find`: the label of the search field; without it, there is no search field. `none`: shown if no value
 *   matches. `clear`: the button that removes all values
 */

/**
 * @param {{
 *   text: string,
 *   label: string,
 *   chosen: string[],
 *   choose: (codes: string[]) => void,
 *   options: (query: string) => Option[],
 *   words: PickerWords,
 *   groups?: OptionGroup[],
 *   opened?: boolean,
 * }} props `text`: the chosen values in words; `label`: the accessible name of the button, which contains `text`;
 *   `options`: returns the values that match a search text in lower case; `opened`: true to open the panel at first
 */
export function Picker({ text, label, opened = false, ...panel }) {
  const open = useSignal(opened);
  const id = useId();
  const button = useRef(/** @type {HTMLButtonElement | null} */ (null));
  const close = () => {
    open.value = false;
    button.current?.focus();
  };
  return (
    <>
      <button
        ref={button}
        type="button"
        class="quiet picked"
        aria-expanded={open.value}
        aria-controls={open.value ? id : undefined}
        aria-label={label}
        onClick={() => (open.value = !open.value)}
      >
        {text}
      </button>
      {open.value && <Panel id={id} {...panel} close={close} />}
    </>
  );
}

/**
 * @param {{
 *   id: string,
 *   chosen: string[],
 *   choose: (codes: string[]) => void,
 *   options: (query: string) => Option[],
 *   words: PickerWords,
 *   groups?: OptionGroup[],
 *   close: () => void,
 * }} props
 */
function Panel({ id, chosen, choose, options, words, groups = [], close }) {
  const wanted = useSignal("");
  const panel = useRef(/** @type {HTMLDivElement | null} */ (null));
  useLayoutEffect(() => panel.current?.querySelector("input")?.focus(), []);
  const found = options(wanted.value.trim().toLocaleLowerCase());
  /** @param {string} code */
  const toggle = (code) => choose(chosen.includes(code) ? chosen.filter((one) => one !== code) : [...chosen, code]);
  return (
    <div
      id={id}
      ref={panel}
      class="picker"
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.preventDefault();
        close();
      }}
    >
      {words.find && (
        <input
          type="search"
          aria-label={words.find}
          placeholder={words.find}
          autocomplete="off"
          spellcheck={false}
          value={wanted.value}
          onInput={(event) => {
            // Do not notify the form, because the search field does not change a value of the form.
            event.stopPropagation();
            wanted.value = event.currentTarget.value;
          }}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || event.ctrlKey || event.metaKey) return;
            // Enter must not submit the form. If only one value matches the search, Enter toggles this value.
            event.preventDefault();
            const [only] = found;
            if (found.length === 1 && only) toggle(only.code);
          }}
        />
      )}
      {groups.length > 0 && (
        <p class="groups" role="group" aria-label={words.groupsOf}>
          {groups.map(({ name, codes }) => {
            const all = codes.every((code) => chosen.includes(code));
            return (
              <button
                key={name}
                type="button"
                class="quiet"
                aria-pressed={all}
                onClick={() =>
                  choose(all ? chosen.filter((code) => !codes.includes(code)) : [...new Set([...chosen, ...codes])])
                }
              >
                {name}
              </button>
            );
          })}
        </p>
      )}
      <div class="countries">
        {found.map(({ code, name }) => (
          <label key={code} class="check">
            <input type="checkbox" checked={chosen.includes(code)} onChange={() => toggle(code)} />
            <span>
              {name} {name !== code && <span class="small">{code}</span>}
            </span>
          </label>
        ))}
      </div>
      <p role="status">{found.length === 0 && words.none}</p>
      <p class="actions">
        <button type="button" class="quiet" onClick={close}>
          {t().picker.done}
        </button>
        {chosen.length > 0 && (
          <button type="button" class="link" onClick={() => choose([])}>
            {words.clear}
          </button>
        )}
      </p>
    </div>
  );
}
