/** The interface texts in the user's language. English is built in; German is loaded on demand. */

import { effect, signal } from "@preact/signals";

import { textLanguage } from "./settings.js";
import en from "./words/en.js";

/** @typedef {typeof import("./words/en-rest.js").default} Rest */
/** @typedef {typeof import("./words/en-report.js").default} ForReports */
/** @typedef {typeof import("./words/en-links.js").default} ForLinks */
/** @typedef {typeof en & Rest & ForReports & ForLinks} Words */

/** The English texts of code that is loaded later are added when that code loads. */
const english = /** @type {Words} */ ({ ...en });
const words = signal(english);

/** Add the English texts of the code that has just loaded. @param {Rest | ForReports | ForLinks} texts */
export const add = (texts) => void Object.assign(english, texts);

/** @returns {Words} call this during rendering, so that the component re-renders when the language changes */
export const t = () => words.value;

/** Load the texts in the reader's language. If that fails, keep English. @returns {Promise<void>} */
export async function loadWords() {
  const tag = textLanguage();
  let found = english;
  try {
    if (tag === "de") found = (await import("./words/de.js")).default;
  } catch {
    // If the German texts cannot be loaded, keep English.
  }
  if (tag !== textLanguage()) return;
  words.value = found;
  document.documentElement.lang = found === english ? "en" : tag;
}

effect(() => {
  if (textLanguage()) loadWords();
});
