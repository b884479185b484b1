import assert from "node:assert/strict";
import { test } from "node:test";

import { inBrowser } from "./browser.js";

inBrowser();
const { match, safeNext } = await import("../src/router.js");

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
