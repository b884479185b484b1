/** A write without a form: what a button does. */

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";

import { newKey } from "../api.js";
import { ApiError } from "../http.js";

/**
 * One write at a time, by its name. Repeated after a failure that may pass, it has the same Idempotency-Key.
 * @returns {{
 *   busy: string,
 *   done: string,
 *   error: ApiError | null,
 *   run: (name: string, send: (key: string) => Promise<unknown>) => Promise<void>,
 * }} `busy`: what is sent now; `done`: what went well last; `error`: why the last one did not
 */
export function useWrite() {
  const state = useSignal({ busy: "", done: "", error: /** @type {ApiError | null} */ (null) });
  const kept = useRef({ name: "", key: "" });
  return {
    ...state.value,
    run: async (name, send) => {
      if (state.peek().busy !== "") return;
      if (kept.current.name !== name) kept.current = { name, key: newKey() };
      state.value = { busy: name, done: "", error: null };
      let error = null;
      try {
        await send(kept.current.key);
      } catch (thrown) {
        error = thrown instanceof ApiError ? thrown : new ApiError("unexpected", String(thrown));
      }
      if (!error?.passes) kept.current.name = "";
      state.value = { busy: "", done: error ? "" : name, error };
    },
  };
}
