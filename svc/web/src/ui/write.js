/** A write, or whatever else a button begins: once at a time, and what it throws is shown. */

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";

import { newKey } from "../api.js";
import { asApiError } from "../http.js";

/** @typedef {import("../http.js").ApiError} ApiError */

/**
 * @typedef {object} Write
 * @property {boolean} busy something is under way
 * @property {string} doing what, by its name
 * @property {boolean} done the last one went well
 * @property {ApiError | null} error why the last one did not
 * @property {(work: (key: string) => Promise<unknown>, name?: string) => Promise<boolean>} run does nothing while
 *   something is under way; whether it went well. Repeated after a failure that may pass, it is given the same
 *   Idempotency-Key: what was done but not answered is not done twice
 * @property {() => void} renew what is sent next is another request, whatever its name
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
