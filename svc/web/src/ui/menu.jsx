/** A button with a menu of rare actions. The arrow keys move in the menu, and Esc closes it. */

import { useSignal } from "@preact/signals";
import { useId, useRef } from "preact/hooks";

/** @typedef {{text: string, does: () => void, danger?: boolean, disabled?: boolean}} Item */

const WIDTH_PX = 208;
const GAP_PX = 4;

/** @param {{label: string, items: Item[]}} props `label`: the name of the button, which shows "…" */
export function Menu({ label, items }) {
  const id = useId();
  const isOpen = useSignal(false);
  const button = useRef(/** @type {HTMLButtonElement | null} */ (null));
  const menu = useRef(/** @type {HTMLDivElement | null} */ (null));
  const entries = () => [...(menu.current?.querySelectorAll("button") ?? [])];

  /** @param {import("preact").TargetedToggleEvent<HTMLDivElement>} event */
  const toggled = ({ newState }) => {
    isOpen.value = newState === "open";
    // The event arrives after the menu has opened. If the user has already pressed an arrow key by then, keep the
    // focus.
    if (newState === "open" && !menu.current?.contains(document.activeElement)) entries()[0]?.focus();
  };
  /** Place the menu below the button, inside the window. */
  const place = () => {
    const { style } = menu.current ?? {};
    if (!style || !button.current) return;
    const { bottom, right } = button.current.getBoundingClientRect();
    const left = Math.min(right - WIDTH_PX, document.documentElement.clientWidth - WIDTH_PX - GAP_PX);
    style.setProperty("--menu-left", `${Math.max(GAP_PX, left)}px`);
    style.setProperty("--menu-top", `${bottom + GAP_PX + scrollY}px`);
  };
  /** @param {KeyboardEvent} event */
  const key = (event) => {
    const all = entries();
    const at = all.findIndex((entry) => entry === document.activeElement);
    /** @type {Record<string, number>} */
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 };
    if (event.key === "Tab") menu.current?.hidePopover();
    if (!(event.key in to)) return;
    event.preventDefault();
    all.at((to[event.key] ?? 0) % all.length)?.focus();
  };
  return (
    <>
      <button
        ref={button}
        type="button"
        class="quiet"
        aria-label={label}
        aria-haspopup="menu"
        aria-expanded={isOpen.value}
        popovertarget={id}
        onKeyDown={(event) => {
          if (event.key !== "ArrowDown") return;
          event.preventDefault();
          if (!menu.current?.matches(":popover-open")) menu.current?.showPopover();
          entries()[0]?.focus();
        }}
      >
        …
      </button>
      <div
        id={id}
        ref={menu}
        class="menu-items"
        role="menu"
        aria-label={label}
        popover="auto"
        onBeforeToggle={place}
        onToggle={toggled}
        onKeyDown={key}
      >
        {items.map(({ text, does, danger, disabled }) => (
          <button
            key={text}
            type="button"
            role="menuitem"
            class={danger ? "danger-text" : undefined}
            tabIndex={-1}
            aria-disabled={disabled}
            onClick={() => {
              if (disabled) return;
              menu.current?.hidePopover();
              does();
            }}
          >
            {text}
          </button>
        ))}
      </div>
    </>
  );
}
