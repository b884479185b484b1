/** The texts of the pages in the reader's language; English is at hand, another one is fetched when it is wanted. */

import { effect, signal } from "@preact/signals";

import { textLanguage } from "./settings.js";
import en from "./words/en.js";

/** @typedef {typeof import("./words/en-rest.js").default} Rest */
/** @typedef {typeof en & Rest} Words */

/** The texts of the pages that come later are added with them. */
const english = /** @type {Words} */ ({ ...en });
const words = signal(english);

/** @param {Rest} texts the English ones of the pages that have just come */
export const add = (texts) => void Object.assign(english, texts);

/** @returns {Words} read it where a component is drawn: then it is drawn again when the language changes */
export const t = () => words.value;

/** Fetches the texts of the reader's language; when that fails, English stays. @returns {Promise<void>} */
export async function loadWords() {
  const tag = textLanguage();
  let found = english;
  try {
    if (tag === "de") found = (await import("./words/de.js")).default;
  } catch {
    // the file was not reached
  }
  if (tag !== textLanguage()) return;
  words.value = found;
  document.documentElement.lang = found === english ? "en" : tag;
}

effect(() => {
  if (textLanguage()) loadWords();
});
