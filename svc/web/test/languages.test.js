import assert from "node:assert/strict";
import { test } from "node:test";

import { inBrowser } from "./browser.js";

inBrowser();
const { languageName, languages } = await import("../src/languages.js");

/** @param {string} query @param {string[]} [also] */
const codes = (query, also = []) => languages(also, query).map(({ code }) => code);

test("languages are found by name and by tag", () => {
  assert.deepEqual(codes("dutch"), ["nl"]);
  assert.ok(codes("nl").includes("nl"));
  assert.ok(codes("").length > 60);
  assert.deepEqual(codes("no such language"), []);
});

test("a language that is not in the list is offered by its tag", () => {
  assert.ok(!codes("").includes("de-at"));
  assert.deepEqual(codes("de-at"), ["de-at"]);
  assert.equal(languageName("de-at"), "Austrian German");
  assert.ok(codes("", ["de-at"]).includes("de-at"));
  assert.equal(languageName("not_a_tag!"), "not_a_tag!");
});
