/**
 * Moves the focus to the nearest heading when the focused element is removed, such as a submitted form or a deleted
 * row. Otherwise, keyboard and screen reader users would restart at the top of the page.
 */

const AROUND = "section, dialog, main";

/** The focused element, and its containers from the inside out. */
let focused = /** @type {Element | null} */ (null);
let around = /** @type {Element[]} */ ([]);

document.addEventListener("focusin", ({ target }) => {
  focused = target instanceof Element ? target : null;
  around = [];
  for (let one = focused?.closest(AROUND); one; one = one.parentElement?.closest(AROUND)) around.push(one);
});

// If the user moves the focus away, do not restore it later.
document.addEventListener("focusout", () => {
  queueMicrotask(() => {
    if (focused?.isConnected && document.activeElement === document.body) focused = null;
  });
});

new MutationObserver(() => {
  if (!focused || focused.isConnected || document.activeElement !== document.body) return;
  const left = around.find((one) => one.isConnected);
  // If no container is still in the document, the whole page was rendered again or replaced.
  const heading = left ? left.querySelector("h1, h2, h3") : document.querySelector("main h1");
  if (!(heading instanceof HTMLElement)) return;
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
}).observe(document.documentElement, { childList: true, subtree: true });
