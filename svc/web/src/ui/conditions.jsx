/** The conditions that the user can add to a rule: languages, systems and a query parameter. */

import { useLayoutEffect, useRef } from "preact/hooks";

import { locale } from "../format.js";
import { languageName, languages } from "../languages.js";
import { CONDITIONS, SYSTEMS } from "../rule-drafts.js";
import { t } from "../words.js";
import { Field } from "./form.jsx";
import { Picker } from "./picker.jsx";

/**
 * @typedef {import("../rule-drafts.js").Draft} Draft
 * @typedef {typeof CONDITIONS[number]} Condition
 */

/** @param {readonly string[]} names @returns {string} a, b or c */
export const anyOf = (names) => new Intl.ListFormat(locale(), { type: "disjunction" }).format(names);

/** @param {{name: string, value?: string | null}} query @returns {string} `ref=news`, or `ref` for any value */
export const asParameter = ({ name, value = null }) => (value === null ? name : `${name}=${value}`);

/** @type {Pick<Draft, Condition>} */
const ADDED = { languages: [], os: [], query: { name: "", value: "", isAny: true } };

/**
 * @param {{place: number, rule: Draft, change: (change: Partial<Draft>) => void}} props `place`: the index of the rule
 */
export function Conditions({ place, rule, change }) {
  const words = t().links.rules;
  const added = useRef(/** @type {Condition | null} */ (null));
  const section = useRef(/** @type {HTMLDivElement | null} */ (null));
  const missing = CONDITIONS.filter((name) => rule[name] === null);
  /** @param {Condition} name */
  const remove = (name) => {
    change({ [name]: null });
    // The button that adds this condition again exists only after the next render.
    requestAnimationFrame(() => {
      const button = section.current?.querySelector(`[data-adds=${name}]`);
      if (button instanceof HTMLElement) button.focus();
    });
  };
  return (
    <div class="conditions" ref={section}>
      {CONDITIONS.filter((name) => rule[name] !== null).map((name) => (
        <div key={name} class="sentence">
          <span>{words.conditions[name]}</span>
          <Value name={name} place={place} rule={rule} change={change} isNew={added.current === name} />
          <button
            type="button"
            class="quiet icon"
            aria-label={words.removeCondition(words.conditionNames[name], place + 1)}
            title={words.removeCondition(words.conditionNames[name], place + 1)}
            onClick={() => remove(name)}
          >
            <span aria-hidden="true">✕</span>
          </button>
        </div>
      ))}
      {missing.length > 0 && (
        <p class="actions">
          {missing.map((name) => (
            <button
              key={name}
              type="button"
              class="link"
              data-adds={name}
              aria-label={words.addCondition(words.conditionNames[name], place + 1)}
              onClick={() => {
                added.current = name;
                change({ [name]: ADDED[name] });
              }}
            >
              <span aria-hidden="true">+ </span>
              {words.conditionNames[name]}
            </button>
          ))}
        </p>
      )}
    </div>
  );
}

/**
 * @param {{
 *   name: Condition,
 *   place: number,
 *   rule: Draft,
 *   change: (change: Partial<Draft>) => void,
 *   isNew: boolean,
 * }} props `isNew`: true if the user has just added the condition, which then gets the focus
 */
function Value({ name, place, rule, change, isNew }) {
  const words = t().links.rules;
  const parameter = useRef(/** @type {HTMLSpanElement | null} */ (null));
  useLayoutEffect(() => {
    if (isNew) parameter.current?.querySelector("input")?.focus();
  }, []);
  if (name === "query") {
    const { query } = rule;
    /** @param {"name" | "value"} part */
    const field = (part) => ({
      name: `rules.${place}.query.${part}`,
      value: query?.[part] ?? "",
      autocomplete: "off",
      onInput: (/** @type {any} */ { currentTarget: { value } }) =>
        change({
          query: {
            name: "",
            value: "",
            isAny: true,
            ...query,
            [part]: value,
            ...(part === "value" && { isAny: !value }),
          },
        }),
    });
    return (
      <span class="parameter" ref={parameter}>
        <Field {...field("name")} label={words.parameter} />
        <Field {...field("value")} label={words.value} placeholder={query?.isAny ? words.anyValue : words.noValue} />
      </span>
    );
  }
  const chosen = rule[name] ?? [];
  const isLanguage = name === "languages";
  const text = chosen.length > 0 ? anyOf(isLanguage ? chosen.map(languageName) : chosen) : words.anyOf[name];
  return (
    <Picker
      text={text}
      label={words.conditionOf(words.conditionNames[name], place + 1, text)}
      chosen={chosen}
      choose={(codes) => change({ [name]: codes })}
      opened={isNew}
      options={(query) => (isLanguage ? languages(chosen, query) : SYSTEMS.map((code) => ({ code, name: code })))}
      words={
        isLanguage
          ? { find: words.findLanguage, none: words.noLanguage, clear: words.clearOf.languages }
          : { clear: words.clearOf.os }
      }
    />
  );
}
