import assert from "node:assert/strict";
import { test } from "node:test";

import { inBrowser } from "./browser.js";

inBrowser();
const { default: de } = await import("../src/words/de.js");
const { default: first } = await import("../src/words/en.js");
const { default: rest } = await import("../src/words/en-rest.js");
const en = { ...first, ...rest };

/** @param {object} words @param {string} [above] @returns {string[]} the names of all texts, as `door.signIn.title` */
function names(words, above = "") {
  return Object.entries(words).flatMap(([name, value]) =>
    value !== null && typeof value === "object" && !Array.isArray(value)
      ? names(value, `${above}${name}.`)
      : [above + name],
  );
}

test("each text is there in both languages, and none that nobody has in English", () => {
  const troubles = /^troubles\./;
  const english = names(en).filter((name) => !troubles.test(name));
  const german = names(de).filter((name) => !troubles.test(name));
  assert.deepEqual(german.sort(), english.sort());
  // The service itself speaks English: German has at least what English has.
  for (const code of Object.keys(en.troubles)) assert.ok(de.troubles[code], code);
});
