/** Dialogs: the browser's own, which keeps the focus inside and gives it back. */

import { useId, useLayoutEffect, useRef } from "preact/hooks";

import { t } from "../words.js";
import { Form } from "./form.jsx";

/** @typedef {import("preact").ComponentChildren} Children */

/**
 * @param {{title: string, close?: () => void, children: Children}} props shown as long as it is drawn; `close` is what
 *   Esc does, without it nothing
 */
export function Dialog({ title, close, children }) {
  const id = useId();
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  // In the same task as the dialog appears, so that the next key already goes to it.
  useLayoutEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    const first = dialog.current?.querySelector("input:not([readonly]), select, textarea");
    if (first instanceof HTMLElement) first.focus();
    return () => {
      // Preact removes the element after this; while it is modal, nothing outside of it takes the focus.
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
      // A second Esc closes it whatever we say.
      onClose={() => (close ? close() : dialog.current?.showModal())}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}

/**
 * Asks before something that cannot be taken back. Enter does it, Esc leaves it.
 * @param {{
 *   title: string,
 *   submit: string,
 *   send: (key: string, values: Record<string, string>) => Promise<unknown>,
 *   close: () => void,
 *   children: Children,
 *   meanwhile?: string,
 *   trouble?: (error: import("../http.js").ApiError) => Children | undefined,
 * }} props `title` names the thing; `children` say what stays, and may have fields; `send` closes it by what it does;
 *   `meanwhile` and `trouble` are the form's
 */
export function Confirm({ title, submit, send, close, children, ...form }) {
  return (
    <Dialog title={title} close={close}>
      <Form
        {...form}
        danger
        submit={submit}
        send={(values, key) => send(key, values)}
        more={
          <button type="button" class="quiet" onClick={close}>
            {t().common.cancel}
          </button>
        }
      >
        {children}
      </Form>
    </Dialog>
  );
}
