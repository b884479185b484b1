/** Forms: one Idempotency-Key for what is sent, errors at their fields, nothing that was typed is lost. */

import { useSignal } from "@preact/signals";
import { createContext } from "preact";
import { useContext, useId, useRef } from "preact/hooks";

import { ApiError } from "../http.js";
import { span } from "../format.js";
import { useUnsent } from "../unsent.js";
import { t } from "../words.js";
import { Trouble, sayIssue, useCountdown, useRetryAt } from "./parts.jsx";
import { useWrite } from "./write.js";

/** @typedef {import("preact").ComponentChildren} Children */

/** What was typed is of no use any more: the way to what is there needs no question. */
const THERE_ALREADY = "already_connected";

/** Issues by field. */
const Issues = createContext(/** @type {Record<string, string>} */ ({}));

/**
 * @param {{
 *   send: (values: Record<string, string>, key: string, form: HTMLFormElement) => Promise<unknown>,
 *   submit: string,
 *   children: Children,
 *   more?: Children,
 *   meanwhile?: string,
 *   danger?: boolean,
 *   guard?: boolean,
 *   rest?: ApiError | null,
 *   trouble?: (error: ApiError) => Children | undefined,
 * }} props `send`: sends the fields by their names; what it throws is shown. `more`: beside the button.
 *   `meanwhile`: what the button says while it is sent. `guard`: false where nobody minds what was typed. `rest`: has
 *   when it may be sent again. `trouble`: what is shown in place of an error, where the page knows better
 */
export function Form({ send, submit, children, more, meanwhile, danger = false, guard = true, rest = null, trouble }) {
  const form = useRef(/** @type {HTMLFormElement | null} */ (null));
  const { busy, error, run, renew } = useWrite();
  const typed = useSignal(false);
  const left_s = useCountdown(useRetryAt(error ?? rest ?? NONE));

  useUnsent(typed.value && error?.code !== THERE_ALREADY);

  const edited = () => {
    renew();
    typed.value = guard;
  };
  /** @param {Event} event */
  const submitted = async (event) => {
    event.preventDefault();
    const element = form.current;
    if (!element || busy || left_s > 0) return;
    if (await run((key) => send(valuesOf(element), key, element))) typed.value = false;
    else requestAnimationFrame(() => focusFirst(element));
  };

  // What is wrong with an item of a list is shown at the list, where the item has no field of its own.
  const fields = Object.fromEntries(
    (error?.issues ?? []).flatMap((issue) => [
      [issue.path.split(".", 1)[0], sayIssue(issue)],
      [issue.path, sayIssue(issue)],
    ]),
  );
  const shown = error && Object.keys(fields).some((path) => form.current?.elements.namedItem(path));
  const button = busy ? (meanwhile ?? t().common.busy) : left_s > 0 ? t().common.againIn(span(left_s)) : submit;
  return (
    <Issues.Provider value={fields}>
      <form
        ref={form}
        noValidate
        onInput={edited}
        onSubmit={submitted}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.current?.requestSubmit();
        }}
      >
        {children}
        {error && !shown && (trouble?.(error) || <Trouble error={error} />)}
        <p class="actions">
          <button type="submit" class={danger ? "danger" : undefined} aria-disabled={busy || left_s > 0}>
            {button}
          </button>
          {more}
        </p>
      </form>
    </Issues.Provider>
  );
}

const NONE = new ApiError("");

/** @param {HTMLFormElement} form @returns {Record<string, string>} */
function valuesOf(form) {
  /** @type {Record<string, string>} */
  const values = {};
  for (const [name, value] of new FormData(form)) if (typeof value === "string") values[name] = value;
  return values;
}

/** @param {HTMLFormElement} form */
function focusFirst(form) {
  const first = form.querySelector("[aria-invalid=true]");
  if (first instanceof HTMLElement) first.focus();
}

/**
 * A labelled field with its hint and its error. Without `name` it is none of the form's.
 * @param {{
 *   name: string,
 *   label: string,
 *   hint?: Children,
 *   optional?: boolean,
 *   area?: boolean,
 *   children?: Children,
 *   [attribute: string]: unknown,
 * }} props `children`: the options of a select; other attributes are the field's own
 */
export function Field({ name, label, hint, optional = false, area = false, children, ...attributes }) {
  const id = useId();
  const issue = useContext(Issues)[name];
  const about = [hint ? `${id}-hint` : "", issue ? `${id}-issue` : ""].filter(Boolean).join(" ");
  /** @type {any} */
  const common = {
    id,
    name,
    "aria-describedby": about || undefined,
    "aria-invalid": issue ? "true" : undefined,
    autoCapitalize: "none",
    spellcheck: false,
    ...attributes,
  };
  return (
    <p class="field">
      <label for={id}>
        {label}
        {optional && <span class="small"> ({t().common.optional})</span>}
      </label>
      {children ? <select {...common}>{children}</select> : area ? <textarea {...common} /> : <input {...common} />}
      {hint && (
        <span class="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      {issue && (
        <span class="issue" id={`${id}-issue`} role="alert">
          {issue}
        </span>
      )}
    </p>
  );
}

/**
 * Fields that answer one question together, with what is wrong with the answer.
 * @param {{name: string, legend: string, hint?: Children, children: Children}} props `name`: of the body's field
 */
export function Group({ name, legend, hint, children }) {
  const id = useId();
  const issue = useContext(Issues)[name];
  return (
    <fieldset class="field" aria-describedby={hint ? `${id}-hint` : undefined}>
      <legend>{legend}</legend>
      {hint && (
        <span class="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      {children}
      {issue && (
        <span class="issue" role="alert">
          {issue}
        </span>
      )}
    </fieldset>
  );
}

/** @param {{label: Children, type?: "checkbox" | "radio", [attribute: string]: unknown}} props one choice in words */
export function Check({ label, type = "checkbox", ...attributes }) {
  const id = useId();
  /** @type {any} */
  const own = { id, type, ...attributes };
  return (
    <p class="check">
      <input {...own} />
      <label for={id}>{label}</label>
    </p>
  );
}

/** @param {{name: string, label: string, hint?: Children, [attribute: string]: unknown}} props */
export function Password({ name, label, ...attributes }) {
  const shown = useSignal(false);
  return (
    <>
      <Field name={name} label={label} type={shown.value ? "text" : "password"} {...attributes} />
      <Check
        label={t().session.showPassword}
        checked={shown.value}
        onInput={(/** @type {import("preact").TargetedEvent<HTMLInputElement>} */ event) => {
          // It is no change of what is sent.
          event.stopPropagation();
          shown.value = event.currentTarget.checked;
        }}
      />
    </>
  );
}
