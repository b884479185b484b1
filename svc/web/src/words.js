/** The texts of the pages in the reader's language; English is at hand, another one is fetched when it is wanted. */

import { effect, signal } from "@preact/signals";

import { textLanguage } from "./settings.js";
import en from "./words/en.js";

/** @typedef {typeof en} Words */

const words = signal(en);

/** @returns {Words} read it where a component is drawn: then it is drawn again when the language changes */
export const t = () => words.value;

/** Fetches the texts of the reader's language; when that fails, English stays. @returns {Promise<void>} */
export async function loadWords() {
  const tag = textLanguage();
  let found = en;
  try {
    if (tag === "de") found = (await import("./words/de.js")).default;
  } catch {
    // the file was not reached
  }
  if (tag !== textLanguage()) return;
  words.value = found;
  document.documentElement.lang = found === en ? "en" : tag;
}

effect(() => {
  if (textLanguage()) loadWords();
});
