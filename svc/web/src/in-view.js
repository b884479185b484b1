/** Whether a part of the page is on the screen: what costs a read is read only then. */

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

/** How far below the screen a part already counts as shown, so that it is there when it comes into view. */
const AHEAD = "100px";

/**
 * @param {string} what names the content of the part; other content counts as shown only when it is on the screen
 * @returns {{place: import("preact").RefObject<HTMLDivElement | null>, shown: boolean}} `place`: the part's `ref`;
 *   `shown`: whether this content is or was on the screen
 */
export function useShown(what) {
  const place = useRef(/** @type {HTMLDivElement | null} */ (null));
  const inView = useSignal(false);
  const last = useRef("");
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => (inView.value = entries.at(-1)?.isIntersecting ?? false), {
      rootMargin: AHEAD,
    });
    if (place.current) observer.observe(place.current);
    return () => observer.disconnect();
  }, []);
  if (inView.value) last.current = what;
  return { place, shown: last.current === what };
}
