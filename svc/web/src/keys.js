/** Shortcuts: which there are now, and one listener for all of them. */

import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";

import { shortcuts } from "./settings.js";

const apple = /^(Mac|iP)/.test(navigator.platform ?? "");

/**
 * @typedef {{keys: string, says: string, does: () => void}} Shortcut `keys`: `n`, one after the other as `g o`,
 * or with the key for commands as `Mod+k`; without `says` it is not in the list
 */

/** How long a first key waits for the second. */
const SECOND_KEY_MS = 1_500;

/** How long a key waits for a page that is still loading. */
const EARLY_KEY_MS = 5_000;

/** All that hold now, those of the page that came last first. */
export const active = signal(/** @type {Shortcut[][]} */ ([]));

/** Whether the list of shortcuts is shown; and the field that leads anywhere. */
export const listed = signal(false);
export const searching = signal(false);

/** @param {string} key @returns {string} as it stands on the reader's keyboard */
export const asPrinted = (key) => key.replace(/^Mod\+(.)/, (_, one) => `${apple ? "⌘" : "Ctrl"} ${one.toUpperCase()}`);

/**
 * Registers shortcuts for as long as a component is shown. They work as soon as the component is in the document, and
 * a key that was pressed while the page was loading is handled then.
 * @param {Shortcut[]} own
 */
export function useKeys(own) {
  const says = own.map(({ keys, says: text }) => keys + text).join("\n");
  /** @type {{now: Shortcut[]}} */
  const held = hold(own);
  // Not `useEffect`, which runs after the next frame: a key that arrives before that frame would be lost.
  useLayoutEffect(() => {
    // Through `held`, so that a shortcut does what the newest drawing of its component says.
    const lasting = held.now.map(({ keys, says: text }, i) => ({ keys, says: text, does: () => held.now[i]?.does() }));
    active.value = [lasting, ...active.value];
    if (early) queueMicrotask(handleEarlyKey);
    return () => {
      active.value = active.value.filter((one) => one !== lasting);
    };
  }, [says]);
}

/** @param {Shortcut[]} own @returns {{now: Shortcut[]}} the same object, however often its component is drawn */
function hold(own) {
  const { current } = useRef({ now: own });
  current.now = own;
  return current;
}

let before = "";
let before_at_ms = 0;

/** The last key, where no shortcut had it and the page was still loading. */
let early = /** @type {{sequence: string, key: string, at_ms: number} | null} */ (null);

const isLoading = () => document.querySelector("main .skeleton, main [aria-busy=true]") !== null;

/** @param {{sequence: string, key: string}} typed @returns {Shortcut | undefined} */
function findShortcut({ sequence, key }) {
  const all = active.value.flat();
  return all.find(({ keys }) => keys === sequence) ?? all.find(({ keys }) => keys === key);
}

/** Handles the key that was pressed too early, if a shortcut has it now. */
function handleEarlyKey() {
  if (!early) return;
  const found = performance.now() - early.at_ms < EARLY_KEY_MS ? findShortcut(early) : undefined;
  if (!found || typing(document.activeElement) || document.querySelector("dialog:modal")) return;
  early = null;
  before = "";
  found.does();
}

/** @param {EventTarget | null} target @returns {boolean} whether keys belong to what has the focus */
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

/** @param {KeyboardEvent} event with Ctrl or ⌘, which no field takes for a letter */
function command(event) {
  if (event.shiftKey || event.ctrlKey === apple || event.metaKey !== apple) return;
  const found = active.value.flat().find(({ keys }) => keys === `Mod+${event.key.toLowerCase()}`);
  if (!found) return;
  event.preventDefault();
  found.does();
}

document.addEventListener("keydown", pressed);
// Users who point at something no longer wait for what they typed.
document.addEventListener("pointerdown", () => void (early = null));
