/** Forms: one Idempotency-Key per request, errors shown at their fields, protection of unsent input. */

import { useSignal } from "@preact/signals";
import { createContext } from "preact";
import { useContext, useId, useRef } from "preact/hooks";

import { ApiError } from "../http.js";
import { span } from "../format.js";
import { asHost, asUrl } from "../pasted.js";
import { useUnsent } from "../unsent.js";
import { t } from "../words.js";
import { ErrorMessage, issueText, useCountdown, useRetryAt } from "./parts.jsx";
import { useWrite } from "./write.js";

/** @typedef {import("preact").ComponentChildren} Children */

/** The code of an error after which the input is obsolete, so that leaving the page needs no confirmation. */
const INPUT_OBSOLETE = "already_connected";

/** Field path → validation error. */
const Issues = createContext(/** @type {Record<string, import("../http.js").Issue>} */ ({}));

/** @returns {Record<string, import("../http.js").Issue>} the errors that the user has not corrected yet, by field */
export const useIssues = () => useContext(Issues);

/**
 * @param {{
 *   send: (values: Record<string, string>, key: string, form: HTMLFormElement) => Promise<unknown>,
 *   submit: string,
 *   children: Children,
 *   more?: Children,
 *   busyLabel?: string,
 *   kind?: "danger" | "quiet",
 *   guard?: boolean,
 *   clear?: boolean,
 *   renderError?: (error: ApiError) => Children | undefined,
 * }} props `send`: gets the fields by name; an error that it throws is shown. `more`: shown next to the button.
 *   `busyLabel`: the label of the button while sending. `kind`: the style of the button. `guard`: false if input may be
 *   discarded without confirmation. `clear`: true to reset the fields after a success. `renderError`: replaces
 *   the default error message
 */
export function Form({ send, submit, children, more, busyLabel, kind, guard = true, clear = false, renderError }) {
  const form = useRef(/** @type {HTMLFormElement | null} */ (null));
  const { busy, error, run, renew } = useWrite();
  const typed = useSignal(false);
  const edits = useRef(0);
  /** The fields that the user has edited since the last error. */
  const corrected = useSignal(/** @type {string[]} */ ([]));
  const left_s = useCountdown(useRetryAt(error ?? NONE));

  useUnsent(typed.value && error?.code !== INPUT_OBSOLETE);

  /** @param {Event} event */
  const edited = ({ target }) => {
    renew();
    edits.current += 1;
    typed.value = guard;
    if (error) corrected.value = [...corrected.value, ...fieldsOf(target)];
  };
  /** @param {Event} event */
  const submitted = async (event) => {
    event.preventDefault();
    const element = form.current;
    if (!element || busy || left_s > 0) return;
    for (const field of element.elements) acceptPasted(field);
    corrected.value = [];
    const sent = edits.current;
    const work = async (/** @type {string} */ key) => {
      checkReadable(element);
      await send(valuesOf(element), key, element);
    };
    if (!(await run(work))) requestAnimationFrame(() => focusFirst(element));
    // Edits that the user made during the request are not saved yet.
    else if (edits.current === sent) {
      typed.value = false;
      if (clear) element.reset();
    }
  };

  // If a list item has no separate field, its error is shown at the field for the whole list.
  const fields = Object.fromEntries(
    (error?.issues ?? []).flatMap((issue) => [
      [issue.path.split(".", 1)[0], issue],
      [issue.path, issue],
    ]),
  );
  const shown = error && Object.keys(fields).some((path) => form.current?.elements.namedItem(path));
  const open = Object.entries(fields).filter(([path]) => !corrected.value.some((name) => isRelated(path, name)));
  const button = busy ? (busyLabel ?? t().common.busy) : left_s > 0 ? t().common.againIn(span(left_s)) : submit;
  return (
    <Issues.Provider value={Object.fromEntries(open)}>
      <form
        ref={form}
        noValidate
        onInput={edited}
        onChange={({ target }) => acceptPasted(target)}
        onSubmit={submitted}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.current?.requestSubmit();
        }}
      >
        {children}
        {error && !shown && (renderError?.(error) || <ErrorMessage error={error} />)}
        <p class="actions">
          <button type="submit" class={kind} aria-disabled={busy || left_s > 0}>
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

/**
 * Check that the browser can read all fields. The value of a date without a year, for example, is empty.
 * @param {HTMLFormElement} form
 * @throws {ApiError}
 */
function checkReadable(form) {
  const issues = [...form.elements]
    .filter((field) => field instanceof HTMLInputElement && field.validity.badInput)
    .map((field) => ({ path: field.getAttribute("name") ?? "", code: "wrong_form", message: "" }));
  if (issues.length > 0) throw new ApiError("invalid_request", "", { details: { issues } });
}

/** Functions that convert pasted text to the expected form. */
const PASTED = { url: asUrl, host: asHost };

/** Rewrite the value of a field with `data-pasted`. @param {EventTarget | null} field */
function acceptPasted(field) {
  if (!(field instanceof HTMLInputElement)) return;
  const kind = /** @type {keyof typeof PASTED | undefined} */ (field.dataset.pasted);
  const value = kind ? PASTED[kind](field.value) : field.value;
  if (value === field.value) return;
  field.value = value;
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

/** @param {EventTarget | null} target of an edit @returns {string[]} the fields of the body that it changes */
function fieldsOf(target) {
  if (!(target instanceof HTMLElement)) return [];
  const group = target.closest("fieldset[data-field]");
  return [target.getAttribute("name"), group?.getAttribute("data-field")].filter((name) => typeof name === "string");
}

/**
 * @param {string} path @param {string} other
 * @returns {boolean} true if the paths of two fields are equal, or one field is a part of the other
 */
const isRelated = (path, other) => path === other || path.startsWith(`${other}.`) || other.startsWith(`${path}.`);

/** @param {HTMLFormElement} form */
function focusFirst(form) {
  const first = form.querySelector("[aria-invalid=true]");
  if (first instanceof HTMLElement) first.focus();
}

/**
 * A labeled field with its hint and error. A field without `name` is not sent.
 * @param {{
 *   name: string,
 *   label: string,
 *   hint?: Children,
 *   optional?: boolean,
 *   area?: boolean,
 *   pasted?: "url" | "host",
 *   prefix?: string,
 *   invalid?: string,
 *   children?: Children,
 *   [attribute: string]: unknown,
 * }} props `pasted`: the kind of value, which the field also accepts in other forms and rewrites; `prefix`: a part
 *   of the value that is shown in front of the input; `invalid`: replaces the general error for an invalid format;
 *   `children`: the options of a select; other attributes are passed to the field
 */
export function Field({
  name,
  label,
  hint,
  optional = false,
  area = false,
  pasted,
  prefix,
  invalid,
  children,
  ...attributes
}) {
  const id = useId();
  const found = useContext(Issues)[name];
  const issue = found && (found.code === "wrong_form" && invalid ? invalid : issueText(found));
  const about = [prefix ? `${id}-prefix` : "", hint ? `${id}-hint` : "", issue ? `${id}-issue` : ""]
    .filter(Boolean)
    .join(" ");
  /** @type {any} */
  const common = {
    id,
    name,
    "data-pasted": pasted,
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
      {children ? (
        <select {...common}>{children}</select>
      ) : area ? (
        <textarea {...common} />
      ) : prefix ? (
        <span class="prefixed">
          <span class="prefix" id={`${id}-prefix`}>
            {prefix}
          </span>
          <input {...common} />
        </span>
      ) : (
        <input {...common} />
      )}
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
 * A group of fields for one value of the body, with its error.
 * @param {{name: string, legend: string, hint?: Children, children: Children}} props `name`: the field of the body
 */
export function Group({ name, legend, hint, children }) {
  const id = useId();
  const issue = useContext(Issues)[name];
  return (
    <fieldset class="field" data-field={name} aria-describedby={hint ? `${id}-hint` : undefined}>
      <legend>{legend}</legend>
      {hint && (
        <span class="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      {children}
      {issue && (
        <span class="issue" role="alert">
          {issueText(issue)}
        </span>
      )}
    </fieldset>
  );
}

/**
 * A checkbox or radio button with its label.
 * @param {{label: Children, type?: "checkbox" | "radio", [attribute: string]: unknown}} props
 */
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
          // Do not notify the form, because this checkbox does not change a value of the form.
          event.stopPropagation();
          shown.value = event.currentTarget.checked;
        }}
      />
    </>
  );
}
