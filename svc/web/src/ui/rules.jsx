/** Link rules, as sentences and in an editor. The Worker evaluates the rules. */

import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";

import { percent } from "../format.js";
import { languageName } from "../languages.js";
import { deviceOf, draft } from "../rule-drafts.js";
import { t } from "../words.js";
import { anyOf, asParameter, Conditions } from "./conditions.jsx";
import { CountryPicker, inWords } from "./countries.jsx";
import { Field } from "./form.jsx";

/**
 * @typedef {import("../wire").Rule} Rule
 * @typedef {import("../rule-drafts.js").Device} Device
 * @typedef {import("../rule-drafts.js").Draft} Draft
 */

/** @param {Rule} rule @returns {string} "Visitors from Germany on phones and tablets go to" */
function sentence({ countries = [], devices = [], languages, os, query }) {
  const words = t().links.rules;
  const device = deviceOf(devices);
  return words.sentence({
    from: countries.length > 0 ? inWords(countries) : "",
    count: countries.length,
    on: device === "any" ? "" : words.devices[device],
    os: os ? anyOf(os) : "",
    language: languages ? anyOf(languages.map(languageName)) : "",
    query: query ? asParameter(query) : "",
  });
}

/**
 * @param {{link: Pick<import("../wire").Link, "rules" | "url" | "split">}} props shows the destinations as sentences
 */
export function Leads({ link: { rules, url, split } }) {
  const words = t().links.rules;
  const { leads, leadsAll } = t().linkFields.split;
  return (
    <ol class="leads">
      {rules.map((rule, i) => (
        <li key={i}>
          {sentence(rule)} <code>{rule.url}</code>
        </li>
      ))}
      <li class="else">
        {split ? (
          <>
            {rules.length === 0 ? leadsAll : leads}
            <ul>
              {split.map((variant, i) => (
                <li key={i}>
                  {percent(variant.share / 100)}: <code>{variant.url}</code>
                </li>
              ))}
            </ul>
          </>
        ) : (
          <>
            {rules.length === 0 ? words.all : words.elseTo} <code>{url}</code>
          </>
        )}
      </li>
    </ol>
  );
}

/**
 * The fields have the names that the API uses in issues.
 * @param {{rules: import("@preact/signals").Signal<Draft[]>, isSplit: boolean}} props `isSplit`: true if the link has
 *   an A/B test
 */
export function RulesEditor({ rules, isSplit }) {
  const words = t().links.rules;
  const said = useSignal("");
  const section = useRef(/** @type {HTMLFieldSetElement | null} */ (null));
  const dragged = useRef(-1);
  const focusNext = useRef(/** @type {(() => void) | null} */ (null));

  /** Store the rules and notify the form of the edit. @param {Draft[]} next */
  const set = (next) => {
    rules.value = next;
    section.current?.dispatchEvent(new Event("input", { bubbles: true }));
  };
  /** @param {number} i @param {Partial<Draft>} change */
  const change = (i, change) => set(rules.value.map((rule, place) => (place === i ? { ...rule, ...change } : rule)));
  /** @param {number} from @param {number} to @param {HTMLElement} [button] to focus after the move */
  const move = (from, to, button) => {
    const moved = rules.value.slice(from, from + 1);
    set(rules.value.toSpliced(from, 1).toSpliced(to, 0, ...moved));
    said.value = words.moved(to + 1);
    focusNext.current = () => button?.focus();
  };
  /** @param {string} found */
  const focus = (found) => {
    focusNext.current = () => {
      const element = section.current?.querySelector(found);
      if (element instanceof HTMLElement) element.focus();
    };
  };
  // Move the focus in the task in which the changed rules appear, so that the next key press goes to the right element.
  useLayoutEffect(() => {
    focusNext.current?.();
    focusNext.current = null;
  });

  return (
    <fieldset class="rules" data-field="rules" ref={section}>
      <legend>{words.title}</legend>
      <p class="hint">{words.explain}</p>
      <ol>
        {rules.value.map((rule, i) => (
          <li
            key={rule.key}
            onDragOver={(event) => dragged.current >= 0 && event.preventDefault()}
            onDrop={(event) => {
              event.preventDefault();
              if (dragged.current >= 0 && dragged.current !== i) move(dragged.current, i);
            }}
          >
            <fieldset class="rule">
              <legend>{words.rule(i + 1)}</legend>
              <div class="sentence">
                <span>{words.from}</span>
                <CountryPicker
                  text={inWords(rule.countries)}
                  label={words.countriesOf(i + 1, inWords(rule.countries))}
                  chosen={rule.countries}
                  choose={(countries) => change(i, { countries })}
                />
                <span>{words.on}</span>
                <select
                  aria-label={words.devicesOf(i + 1)}
                  value={rule.device}
                  onChange={(event) => change(i, { device: /** @type {Device} */ (event.currentTarget.value) })}
                >
                  {Object.entries(words.devices).map(([value, text]) => (
                    <option key={value} value={value}>
                      {text}
                    </option>
                  ))}
                </select>
              </div>
              <Conditions place={i} rule={rule} change={(next) => change(i, next)} />
              <Field
                name={`rules.${i}.url`}
                label={words.to}
                pasted="url"
                inputMode="url"
                value={rule.url}
                onInput={(/** @type {any} */ event) => change(i, { url: event.currentTarget.value })}
                placeholder="https://"
              />
              <div class="actions">
                <span
                  class="grip"
                  role="img"
                  aria-label={words.drag}
                  title={words.drag}
                  draggable
                  onDragStart={(event) => {
                    dragged.current = i;
                    const row = event.currentTarget.closest("li");
                    if (row) event.dataTransfer?.setDragImage(row, 0, 0);
                  }}
                  onDragEnd={() => (dragged.current = -1)}
                >
                  ⠿
                </span>
                <Icon
                  sign="↑"
                  name={words.upOf(i + 1)}
                  unavailable={i === 0}
                  press={(button) => move(i, i - 1, button)}
                />
                <Icon
                  sign="↓"
                  name={words.downOf(i + 1)}
                  unavailable={i === rules.value.length - 1}
                  press={(button) => move(i, i + 1, button)}
                />
                <Icon
                  sign="✕"
                  name={words.removeOf(i + 1)}
                  press={() => {
                    set(rules.value.toSpliced(i, 1));
                    focus(".add");
                  }}
                />
              </div>
            </fieldset>
          </li>
        ))}
      </ol>
      <p role="status" class="unseen">
        {said}
      </p>
      <p class="actions">
        <button
          type="button"
          class="quiet add"
          onClick={() => {
            set([...rules.value, draft()]);
            focus("li:last-child .picked");
          }}
        >
          {words.add}
        </button>
        {rules.value.length > 0 && <span class="hint">{isSplit ? words.elseSplit : words.else}</span>}
      </p>
    </fieldset>
  );
}

/**
 * A button that shows a symbol. Its tooltip is its name.
 * @param {{sign: string, name: string, unavailable?: boolean, press: (button: HTMLElement) => void}} props
 */
const Icon = ({ sign, name, unavailable = false, press }) => (
  <button
    type="button"
    class="quiet icon"
    aria-label={name}
    title={name}
    aria-disabled={unavailable}
    onClick={(event) => !unavailable && press(event.currentTarget)}
  >
    <span aria-hidden="true">{sign}</span>
  </button>
);
