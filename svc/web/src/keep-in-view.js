/** Scrolls to an element that a URL names, while the content above it is still loading. */

const INPUTS = ["wheel", "touchstart", "pointerdown", "keydown"];

/**
 * Scrolls to an element, and again whenever the page's height changes, until the user scrolls, clicks or types. Without
 * this, content that loads later would push the element out of view: browsers keep the position only if the page is
 * already scrolled.
 * @param {Element} element
 * @returns {() => void} stops the scrolling
 */
export function keepInView(element) {
  const observer = new ResizeObserver(() => element.scrollIntoView());
  const stop = () => {
    observer.disconnect();
    for (const input of INPUTS) removeEventListener(input, stop);
  };
  for (const input of INPUTS) addEventListener(input, stop, { passive: true });
  observer.observe(document.body);
  return stop;
}
