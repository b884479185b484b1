import assert from "node:assert/strict";
import { test } from "node:test";

import { chosenBy, fitting } from "../src/palette.js";

const offers = ["Overview", "Links", "New link", "Import links", "Übersicht"].map((name) => ({
  href: `/${name}`,
  name,
}));
const names = (/** @type {string} */ typed) => fitting(offers, typed).map(({ name }) => name);

test("empty text offers all places in their order", () => {
  assert.deepEqual(names(""), ["Overview", "Links", "New link", "Import links", "Übersicht"]);
  assert.deepEqual(names("  "), names(""));
});

test("names must contain all words in any order; names that start with the text come first", () => {
  assert.deepEqual(names("LINK"), ["Links", "New link", "Import links"]);
  assert.deepEqual(names("link new"), ["New link"]);
  assert.deepEqual(names("im"), ["Import links"]);
  assert.deepEqual(names("übers"), ["Übersicht"]);
  assert.deepEqual(names("(.*"), []);
});

test("arrow keys wrap around and do nothing in an empty list", () => {
  assert.equal(chosenBy("ArrowDown", 0, 3), 1);
  assert.equal(chosenBy("ArrowDown", 2, 3), 0);
  assert.equal(chosenBy("ArrowUp", 0, 3), 2);
  assert.equal(chosenBy("PageDown", 0, 3), 2);
  assert.equal(chosenBy("PageUp", 2, 3), 0);
  for (const key of ["ArrowDown", "ArrowUp", "PageDown", "PageUp"]) assert.equal(chosenBy(key, -1, 0), 0);
  assert.equal(chosenBy("a", 1, 3), null);
});
