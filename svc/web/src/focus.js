/**
 * The focus is never lost: where what has it goes away (a form that was sent, a row that was deleted), the heading of
 * what was around it has it next. Else a keyboard begins again at the top of the page, and a screen reader with it.
 */

const AROUND = "section, dialog, main";

/** What has the focus, and what it is in, from the inside out. */
let has = /** @type {Element | null} */ (null);
let around = /** @type {Element[]} */ ([]);

document.addEventListener("focusin", ({ target }) => {
  has = target instanceof Element ? target : null;
  around = [];
  for (let one = has?.closest(AROUND); one; one = one.parentElement?.closest(AROUND)) around.push(one);
});

// Somebody has left it: nothing has the focus, and nothing gets it.
document.addEventListener("focusout", () => {
  queueMicrotask(() => {
    if (has?.isConnected && document.activeElement === document.body) has = null;
  });
});

new MutationObserver(() => {
  if (!has || has.isConnected || document.activeElement !== document.body) return;
  const left = around.find((one) => one.isConnected);
  // Where all of it is gone the page was drawn anew, or another one comes.
  const heading = left ? left.querySelector("h1, h2, h3") : document.querySelector("main h1");
  if (!(heading instanceof HTMLElement)) return;
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
}).observe(document.documentElement, { childList: true, subtree: true });
