/** A country picker: checkboxes, searchable by name and code. */

import { useSignal } from "@preact/signals";
import { useId, useLayoutEffect, useRef } from "preact/hooks";

import { countries, GROUPS, named } from "../countries.js";
import { list } from "../format.js";
import { t } from "../words.js";

/**
 * @param {string[]} codes
 * @returns {string} such as `Germany, Austria, and 3 more`; "any country" for an empty list
 */
export function inWords(codes) {
  const words = t().links.rules;
  const { names, others } = named(codes);
  if (names.length === 0) return words.anyCountry;
  return list(others > 0 ? [...names, words.others(others)] : names);
}

/**
 * @param {{
 *   text: string,
 *   label: string,
 *   chosen: string[],
 *   choose: (codes: string[]) => void,
 * }} props `text`: the chosen countries in words; `label`: the accessible name of the button, which contains `text`
 */
export function CountryPicker({ text, label, chosen, choose }) {
  const open = useSignal(false);
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
      {open.value && <Panel id={id} chosen={chosen} choose={choose} close={close} />}
    </>
  );
}

/**
 * @param {{
 *   id: string,
 *   chosen: string[],
 *   choose: (codes: string[]) => void,
 *   close: () => void,
 * }} props
 */
function Panel({ id, chosen, choose, close }) {
  const words = t().links.rules;
  const wanted = useSignal("");
  const filter = useRef(/** @type {HTMLInputElement | null} */ (null));
  useLayoutEffect(() => filter.current?.focus(), []);
  const query = wanted.value.trim().toLocaleLowerCase();
  const found = countries(chosen).filter(
    ({ code, name }) => code.toLowerCase() === query || name.toLocaleLowerCase().includes(query),
  );
  /** @param {string} code */
  const toggle = (code) => choose(chosen.includes(code) ? chosen.filter((one) => one !== code) : [...chosen, code]);
  return (
    <div
      id={id}
      class="picker"
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.preventDefault();
        close();
      }}
    >
      <input
        ref={filter}
        type="search"
        aria-label={words.filter}
        placeholder={words.filter}
        autocomplete="off"
        spellcheck={false}
        value={wanted.value}
        onInput={(event) => {
          // This input does not change a form value.
          event.stopPropagation();
          wanted.value = event.currentTarget.value;
        }}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.ctrlKey || event.metaKey) return;
          // Do not submit the form: if only one country matches, toggle it.
          event.preventDefault();
          const [only] = found;
          if (found.length === 1 && only) toggle(only.code);
        }}
      />
      <p class="groups" role="group" aria-label={words.groupsOf}>
        {GROUPS.map(([name, codes]) => {
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
              {words.groups[name]}
            </button>
          );
        })}
      </p>
      <div class="countries">
        {found.map(({ code, name }) => (
          <label key={code} class="check">
            <input type="checkbox" checked={chosen.includes(code)} onChange={() => toggle(code)} />
            <span>
              {name} <span class="small">{code}</span>
            </span>
          </label>
        ))}
      </div>
      <p role="status">{found.length === 0 && words.noCountry}</p>
      <p class="actions">
        <button type="button" class="quiet" onClick={close}>
          {words.done}
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
