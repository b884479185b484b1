import assert from "node:assert/strict";
import { test } from "node:test";

import { inBrowser } from "./browser.js";

inBrowser();
const { go, leaving, match, rememberPage, safeNext } = await import("../src/router.js");

test("parameters are decoded, and only matching paths match", () => {
  assert.deepEqual(match("/sites/:id", "/sites/site_1"), { id: "site_1" });
  assert.deepEqual(match("/sites/:id", "/sites/a%20b/"), { id: "a b" });
  assert.deepEqual(match("/", "/"), {});
  for (const path of ["/sites", "/sites/", "/sites/a/b", "/links/a", "/sites/%E0%A4%A"]) {
    assert.equal(match("/sites/:id", path), null, path);
  }
});

test("sign-in never redirects to another host", () => {
  assert.equal(safeNext("/links?q=a"), "/links?q=a");
  for (const evil of [null, "", "//evil.example", "/\\evil.example", "https://evil.example", "/\t/evil.example", "x"]) {
    assert.equal(safeNext(evil), "/", String(evil));
  }
});

test("a page is left when another page is opened, which closes the question about leaving", () => {
  Object.assign(globalThis, { history: { pushState() {} }, scrollTo() {} });
  const isHere = rememberPage();
  go("/?period=7d");
  assert.equal(isHere(), true);
  leaving.value = { go: () => assert.fail("the page was left without an answer") };
  go("/sites/new");
  assert.equal(isHere(), false);
  assert.equal(leaving.value, null);
  go("/");
  assert.equal(isHere(), false);
});
