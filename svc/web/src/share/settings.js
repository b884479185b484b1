/**
 * The settings of the public page of a share, in place of ../settings.js: the browser's language and theme. Nothing is
 * stored.
 */

import { signal } from "@preact/signals";

export const theme = signal("system");
export const language = signal("browser");
export const shortcuts = signal("off");

/** @returns {"en" | "de"} the first supported language of the browser */
export function textLanguage() {
  const spoken = navigator.languages.map((tag) => tag.split("-")[0]);
  return spoken.find((tag) => tag === "en" || tag === "de") ?? "en";
}
