import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import { STYLE } from "../src/html_page.js";
import { LANGUAGES } from "../src/languages.js";
import { TEXTS, pageIn } from "../src/not_found_page.js";
import vocabulary from "../src/vocabulary.json" with { type: "json" };

test("each page is below 1 kB, and contains no script, no link and no other resource", () => {
  assert.deepEqual(Object.keys(TEXTS), LANGUAGES);
  for (const language of LANGUAGES) {
    const page = pageIn(language);
    assert.ok(Buffer.byteLength(page) < 1_000, `${language}: ${Buffer.byteLength(page)} bytes`);
    assert.match(page, new RegExp(`^<!doctype html><html lang="${language}">`));
    assert.doesNotMatch(page, /<script|<a\b|<img|<link|https?:|svc/i);
  }
});

test("the policy allows exactly the page's style", () => {
  const hash = createHash("sha256").update(STYLE).digest("base64");
  assert.match(
    vocabulary.not_found_policy,
    new RegExp(`^default-src 'none'; style-src 'sha256-${hash.replaceAll("+", "\\+")}';`),
  );
});
