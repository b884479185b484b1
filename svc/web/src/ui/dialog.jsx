/** Modal dialogs, based on the browser's `<dialog>`, which traps and restores the focus. */

import { useId, useLayoutEffect, useRef } from "preact/hooks";

import { ApiError } from "../http.js";
import { t } from "../words.js";
import { Field, Form } from "./form.jsx";

/** @typedef {import("preact").ComponentChildren} Children */

/**
 * @param {{title: string, close?: () => void, children: Children}} props open while mounted; the focus starts at the
 *   element with `data-first`, or at the first field. Esc calls `close`. Without `close`, Esc does
 *   nothing
 */
export function Dialog({ title, close, children }) {
  const id = useId();
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  // Run in the task in which the dialog appears, so that the next key press goes to the dialog.
  useLayoutEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    const first =
      dialog.current?.querySelector("[data-first]") ??
      dialog.current?.querySelector("input:not([readonly]), select, textarea");
    if (first instanceof HTMLElement) first.focus();
    return () => {
      // Remove the element now: Preact would remove it later, and until then, no element outside the modal dialog can
      // get the focus.
      dialog.current?.remove();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        close?.();
      }}
      // Browsers close the dialog at the second Esc even if the event is canceled.
      onClose={() => (close ? close() : dialog.current?.showModal())}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}

/**
 * The field in which the user types the name of the object to confirm the action. The field is not part of the request.
 */
const TYPED = "typed_name";

/**
 * Ask for confirmation of an action that cannot be undone. Enter confirms, Esc cancels.
 * @param {{
 *   title: string,
 *   submit: string,
 *   send: (key: string, values: Record<string, string>) => Promise<unknown>,
 *   close: () => void,
 *   children: Children,
 *   typed?: string | undefined,
 *   busyLabel?: string,
 *   renderError?: (error: ApiError) => Children | undefined,
 * }} props `title` names the object; `children` explain the effect and may contain fields; `send` must close the
 *   dialog; `typed`: the name that the user must type if the action affects visitors; `busyLabel` and
 *   `renderError`: see `Form`
 */
export function Confirm({ title, submit, send, close, children, typed, ...form }) {
  const words = t().common.confirm;
  return (
    <Dialog title={title} close={close}>
      <Form
        {...form}
        kind="danger"
        submit={submit}
        send={({ [TYPED]: name = "", ...values }, key) => {
          if (typed !== undefined && asShown(name) !== asShown(typed)) throw wrongName();
          return send(key, values);
        }}
        more={
          <button type="button" class="quiet" onClick={close}>
            {t().common.cancel}
          </button>
        }
      >
        {children}
        {typed !== undefined && (
          <Field name={TYPED} label={words.type(typed)} invalid={words.wrong(typed)} autocomplete="off" required />
        )}
      </Form>
    </Dialog>
  );
}

/**
 * @param {string} name @returns {string} the name without differences that are invisible on the screen
 */
const asShown = (name) => name.normalize("NFC").trim().replace(/\s+/g, " ");

/** @returns {ApiError} an error at the field for the name */
const wrongName = () =>
  new ApiError("invalid_request", "", {
    details: { issues: [{ path: TYPED, code: "wrong_form", message: "" }] },
  });
