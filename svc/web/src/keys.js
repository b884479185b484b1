/** The active keyboard shortcuts, and one event listener for all of them. */

import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";

import { shortcuts } from "./settings.js";

const apple = /^(Mac|iP)/.test(navigator.platform ?? "");

/**
 * @typedef {{keys: string, says: string, does: () => void}} Shortcut `keys`: a key (`n`), a sequence (`g o`) or a
 *   key with Ctrl or ⌘ (`Mod+k`). `says`: the description; if empty, the list of shortcuts omits the shortcut
 */

/** Time limit for the second key of a sequence. */
const SECOND_KEY_MS = 1_500;

/** How long a key is remembered if it was pressed while a page was loading. */
const EARLY_KEY_MS = 5_000;

/** The pages on which a shortcut works: its own page, or every page. @typedef {"page" | "everywhere"} Scope */

/** All active shortcuts, most recently registered first. */
export const active = signal(/** @type {{scope: Scope, shortcuts: Shortcut[]}[]} */ ([]));

/** @param {Scope} scope @returns {Shortcut[]} the active shortcuts of this scope */
export const inScope = (scope) => active.value.flatMap((one) => (one.scope === scope ? one.shortcuts : []));

/** True while the list of shortcuts is open. */
export const listed = signal(false);
/** True while the search dialog is open. */
export const searching = signal(false);

/** @param {string} key @returns {string} the key as it is printed on the user's keyboard */
export const asPrinted = (key) => key.replace(/^Mod\+(.)/, (_, one) => `${apple ? "⌘" : "Ctrl"} ${one.toUpperCase()}`);

/**
 * Register shortcuts while a component is mounted. They work as soon as the component is in the document, and then
 * handle a key that was pressed while the page was loading.
 * @param {Shortcut[]} own @param {Scope} [scope]
 */
export function useKeys(own, scope = "page") {
  const says = own.map(({ keys, says: text }) => keys + text).join("\n");
  /** @type {{now: Shortcut[]}} */
  const held = hold(own);
  // Do not use `useEffect`, which runs after the next frame: a key that is pressed before this frame would be lost.
  useLayoutEffect(() => {
    // Read the callback from `held`, so that a shortcut runs the callback of the latest render.
    const current = held.now.map(({ keys, says: text }, i) => ({ keys, says: text, does: () => held.now[i]?.does() }));
    const lasting = { scope, shortcuts: current };
    active.value = [lasting, ...active.value];
    if (early) queueMicrotask(handleEarlyKey);
    return () => {
      active.value = active.value.filter((one) => one !== lasting);
    };
  }, [says]);
}

/** @param {Shortcut[]} own @returns {{now: Shortcut[]}} the same object in every render */
function hold(own) {
  const { current } = useRef({ now: own });
  current.now = own;
  return current;
}

let before = "";
let before_at_ms = 0;

/** The last key that matched no shortcut while the page was loading. */
let early = /** @type {{sequence: string, key: string, at_ms: number} | null} */ (null);

const isLoading = () => document.querySelector("main .skeleton, main [aria-busy=true]") !== null;

const allActive = () => active.value.flatMap(({ shortcuts }) => shortcuts);

/** @param {{sequence: string, key: string}} typed @returns {Shortcut | undefined} */
function findShortcut({ sequence, key }) {
  const all = allActive();
  return all.find(({ keys }) => keys === sequence) ?? all.find(({ keys }) => keys === key);
}

/** Handle the key pressed while the page was loading, if it matches a shortcut now. */
function handleEarlyKey() {
  if (!early) return;
  const found = performance.now() - early.at_ms < EARLY_KEY_MS ? findShortcut(early) : undefined;
  if (!found || typing(document.activeElement) || document.querySelector("dialog:modal")) return;
  early = null;
  before = "";
  found.does();
}

/** @param {EventTarget | null} target @returns {boolean} true if the element accepts text input */
function typing(target) {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target.closest("dialog, [popover]:popover-open")) return true;
  return target.matches("textarea, select, input:not([type=checkbox], [type=radio], [type=button], [type=submit])");
}

/** @param {KeyboardEvent} event */
function pressed(event) {
  early = null;
  if (event.defaultPrevented || event.isComposing || event.repeat) return;
  if (event.altKey || shortcuts.value === "off" || document.querySelector("dialog:modal")) return;
  if (event.ctrlKey || event.metaKey) return command(event);
  if (typing(event.target)) return;
  const sequence = event.timeStamp - before_at_ms < SECOND_KEY_MS ? `${before} ${event.key}` : event.key;
  const typed = { sequence, key: event.key, at_ms: event.timeStamp };
  const found = findShortcut(typed);
  if (!found && isLoading()) early = typed;
  before = found ? "" : event.key;
  before_at_ms = found ? 0 : event.timeStamp;
  if (!found) return;
  event.preventDefault();
  found.does();
}

/** @param {KeyboardEvent} event with Ctrl or ⌘, which also works in text fields */
function command(event) {
  if (event.shiftKey || event.ctrlKey === apple || event.metaKey !== apple) return;
  const found = allActive().find(({ keys }) => keys === `Mod+${event.key.toLowerCase()}`);
  if (!found) return;
  event.preventDefault();
  found.does();
}

document.addEventListener("keydown", pressed);
// After a click, the user no longer expects the earlier key to take effect.
document.addEventListener("pointerdown", () => void (early = null));
