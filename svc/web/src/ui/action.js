/** What a button does without a form: once at a time, and what it throws is shown. */

import { useSignal } from "@preact/signals";

/**
 * @returns {{busy: boolean, error: any, run: (work: () => Promise<unknown>) => Promise<void>}} `error`: of the newest
 *   work, null while there is none; `run` does nothing while another work is under way
 */
export function useAction() {
  const busy = useSignal(false);
  const error = useSignal(/** @type {any} */ (null));
  return {
    busy: busy.value,
    error: error.value,
    run: async (work) => {
      if (busy.peek()) return;
      busy.value = true;
      error.value = null;
      try {
        await work();
      } catch (thrown) {
        error.value = thrown;
      }
      busy.value = false;
    },
  };
}
