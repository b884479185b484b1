/** Tracks whether a part of a page was visible, so that expensive reads can wait until the user scrolls to it. */

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

/**
 * A part that is this close to the visible area counts as visible, so that it is loaded before the user scrolls to it.
 */
const AHEAD = "100px";

/**
 * Track whether a part of the page was on the screen with its current content. The content with which a page opens
 * always counts as shown.
 * @param {string} what identifies the content. New content is not shown until the part is on the screen.
 * @returns {{place: import("preact").RefObject<HTMLDivElement | null>, shown: boolean}} `place`: the part's `ref`;
 *   `shown`: true if this content is or was on the screen
 */
export function useShown(what) {
  const place = useRef(/** @type {HTMLDivElement | null} */ (null));
  const inView = useSignal(false);
  const last = useRef(what);
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => (inView.value = entries.at(-1)?.isIntersecting ?? false), {
      rootMargin: AHEAD,
    });
    if (place.current) observer.observe(place.current);
    return () => observer.disconnect();
  }, []);
  // Do not render the component again when its first content comes into view, because this content already counts as
  // shown.
  if (last.current !== what && inView.value) last.current = what;
  return { place, shown: last.current === what };
}
