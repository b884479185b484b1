/** What somebody has typed and nobody has sent: its page is not left without being asked, by whatever way. */

import { signal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";

/** How many parts of the page hold something. */
export const unsent = signal(0);

/** @param {BeforeUnloadEvent} event */
const ask = (event) => event.preventDefault();

/** @param {boolean} holds whether a component has something, as long as it is shown */
export function useUnsent(holds) {
  // At once, not after the next frame: whoever types and goes is asked as well.
  useLayoutEffect(() => {
    if (!holds) return undefined;
    unsent.value += 1;
    addEventListener("beforeunload", ask);
    return () => {
      unsent.value -= 1;
      // The same listener is there once, however many hold something.
      if (unsent.value === 0) removeEventListener("beforeunload", ask);
    };
  }, [holds]);
}
