/** The state of an action, such as a write. Only one action runs at a time, and its error is available for display. */

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";

import { newKey } from "../api.js";
import { asApiError } from "../http.js";

/** @typedef {import("../http.js").ApiError} ApiError */

/**
 * @typedef {object} Write
 * @property {boolean} busy true while an action is running
 * @property {string} doing the name of the running action
 * @property {boolean} done true if the last action succeeded
 * @property {ApiError | null} error of the last action
 * @property {(work: (key: string) => Promise<unknown>, name?: string) => Promise<boolean>} run start an action;
 *   returns true if it succeeded, false if it failed or another action is running. A retry after a transient failure
 *   uses the same Idempotency-Key, so that nothing is done twice
 * @property {() => void} renew use a new Idempotency-Key for the next action
 */

/** @returns {Write} */
export function useWrite() {
  const state = useSignal({ doing: "", busy: false, done: false, error: /** @type {ApiError | null} */ (null) });
  const kept = useRef({ name: "", key: "" });
  const renew = () => void (kept.current.key = "");
  return {
    ...state.value,
    renew,
    run: async (work, name = "") => {
      if (state.peek().busy) return false;
      if (kept.current.name !== name) renew();
      kept.current = { name, key: kept.current.key || newKey() };
      state.value = { doing: name, busy: true, done: false, error: null };
      let error = null;
      try {
        await work(kept.current.key);
      } catch (thrown) {
        error = asApiError(thrown);
      }
      if (!error?.passes) renew();
      state.value = { doing: "", busy: false, done: !error, error };
      return !error;
    },
  };
}
