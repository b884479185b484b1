/** What would be lost with its page, which is not left without being asked then, by whatever way. */

import { signal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";

/** How many parts of the page hold something that somebody has typed and nobody has sent. */
export const unsent = signal(0);

/** How many show what is told this once, as the value of a key. */
export const toldOnce = signal(0);

/** @returns {boolean} whether something would be lost with the page */
export const holdsSomething = () => unsent.value + toldOnce.value > 0;

/** @param {BeforeUnloadEvent} event */
const ask = (event) => event.preventDefault();

/** @param {boolean} holds whether a component has something, as long as it is shown @param {typeof unsent} of what */
function useHeld(holds, of) {
  // At once, not after the next frame: whoever types and goes is asked as well.
  useLayoutEffect(() => {
    if (!holds) return undefined;
    of.value += 1;
    addEventListener("beforeunload", ask);
    return () => {
      of.value -= 1;
      // The same listener is there once, however many hold something.
      if (!holdsSomething()) removeEventListener("beforeunload", ask);
    };
  }, [holds]);
}

/** @param {boolean} holds whether a component has something that was not sent */
export const useUnsent = (holds) => useHeld(holds, unsent);

/** @param {boolean} shows whether a component shows something that cannot be had again */
export const useToldOnce = (shows) => useHeld(shows, toldOnce);
