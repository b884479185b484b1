/**
 * Tracks unsent input and values that are shown only once. Leaving a page with either of them requires confirmation.
 */

import { signal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";

/** The number of components with unsent input. */
export const unsent = signal(0);

/** The number of components that show a value only once, such as a new API key. */
export const shownOnce = signal(0);

/** @returns {boolean} true if leaving the page would lose something */
export const holdsSomething = () => unsent.value + shownOnce.value > 0;

/** @param {BeforeUnloadEvent} event */
const ask = (event) => event.preventDefault();

/** Count a component while it is mounted and `holds` is true. @param {boolean} holds @param {typeof unsent} counter */
function useHeld(holds, counter) {
  // Count before the next frame, so that the confirmation appears even if the user leaves the page directly after
  // typing.
  useLayoutEffect(() => {
    if (!holds) return undefined;
    counter.value += 1;
    addEventListener("beforeunload", ask);
    return () => {
      counter.value -= 1;
      // All components share one listener, so remove it only if no component has something to lose.
      if (!holdsSomething()) removeEventListener("beforeunload", ask);
    };
  }, [holds]);
}

/** @param {boolean} holds true if the component has unsent input */
export const useUnsent = (holds) => useHeld(holds, unsent);

/** @param {boolean} shows true if the component shows a value that cannot be retrieved again */
export const useShownOnce = (shows) => useHeld(shows, shownOnce);
