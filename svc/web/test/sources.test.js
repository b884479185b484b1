import assert from "node:assert/strict";
import { test } from "node:test";

import { sourceAddress, sourceName } from "../src/sources.js";

test("well-known sites and apps have names, also below a subdomain or a country's domain", () => {
  for (const [source, name] of /** @type {const} */ ([
    ["t.co", "X"],
    ["l.instagram.com", "Instagram"],
    ["de.m.wikipedia.org", "Wikipedia"],
    ["google.co.uk", "Google"],
    ["google.de", "Google"],
    ["mail.google.com", "Gmail"],
    ["com.google.android.gm", "Gmail"],
    ["notx.com", null],
    ["google.com.evil.example", null],
    ["newsletter", null],
    ["constructor", null],
    ["a.constructor", null],
    ["", null],
  ])) {
    assert.equal(sourceName(source), name, source);
  }
});

test("only hosts have an address", () => {
  assert.equal(sourceAddress("news.ycombinator.com"), "https://news.ycombinator.com/");
  for (const source of ["", "(internal)", "newsletter", "spring sale", "a.b/c", "com.slack", "user@host.example"]) {
    assert.equal(sourceAddress(source), null, source);
  }
});
