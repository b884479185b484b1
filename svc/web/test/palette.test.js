import assert from "node:assert/strict";
import { test } from "node:test";

import { chosenBy, fitting } from "../src/palette.js";

const offers = ["Overview", "Links", "New link", "Import links", "Übersicht"].map((name) => ({
  href: `/${name}`,
  name,
}));
const names = (/** @type {string} */ typed) => fitting(offers, typed).map(({ name }) => name);

test("all places are offered while nothing is typed, in their own order", () => {
  assert.deepEqual(names(""), ["Overview", "Links", "New link", "Import links", "Übersicht"]);
  assert.deepEqual(names("  "), names(""));
});

test("each word has to be in the name, in any order; a name that begins with what is typed comes first", () => {
  assert.deepEqual(names("LINK"), ["Links", "New link", "Import links"]);
  assert.deepEqual(names("link new"), ["New link"]);
  assert.deepEqual(names("im"), ["Import links"]);
  assert.deepEqual(names("übers"), ["Übersicht"]);
  assert.deepEqual(names("(.*"), []);
});

test("the arrows go round, and nowhere where nothing is", () => {
  assert.equal(chosenBy("ArrowDown", 0, 3), 1);
  assert.equal(chosenBy("ArrowDown", 2, 3), 0);
  assert.equal(chosenBy("ArrowUp", 0, 3), 2);
  assert.equal(chosenBy("PageDown", 0, 3), 2);
  assert.equal(chosenBy("PageUp", 2, 3), 0);
  for (const key of ["ArrowDown", "ArrowUp", "PageDown", "PageUp"]) assert.equal(chosenBy(key, -1, 0), 0);
  assert.equal(chosenBy("a", 1, 3), null);
});
