import assert from "node:assert/strict";
import { test } from "node:test";

import en from "../src/words/en/install.js";
import { codeFor, formsOf, keepPlatform, keptPlatform, PLATFORMS, policyOf } from "../src/platforms.js";

const stored = new Map();
Object.defineProperty(globalThis, "localStorage", {
  value: {
    getItem: (/** @type {string} */ name) => stored.get(name) ?? null,
    setItem: (/** @type {string} */ name, /** @type {string} */ value) => void stored.set(name, value),
  },
});

const code = "{let e=[1,`\\n`].join`\\n`}";
const snippet = {
  inline: `<script>${code}</script>`,
  script_tag: '<script defer src="/a1b2/c3.js"></script>',
  csp_hash: "sha256-abc=",
};

test("the code for Next.js is valid JavaScript with the same code and source", () => {
  const [from, , inline = ""] = codeFor("nextjs", "inline", snippet).split("\n");
  assert.equal(from, 'import Script from "next/script";');
  const [, text = ""] = /__html: (".*") \}\} \/>$/.exec(inline) ?? [];
  assert.equal(JSON.parse(text), code);
  assert.match(inline, /^<Script id="/);
  assert.match(codeFor("nextjs", "script_tag", snippet), /\n<Script src="\/a1b2\/c3\.js" \/>$/);
});

test("other platforms take the snippet as it is, Tag Manager only as a script tag", () => {
  for (const platform of PLATFORMS.filter((one) => one !== "nextjs")) {
    for (const form of formsOf(platform)) assert.equal(codeFor(platform, form, snippet), snippet[form]);
  }
  assert.deepEqual(formsOf("gtm"), ["script_tag"]);
  assert.equal(policyOf(snippet, "inline"), "script-src 'sha256-abc='; connect-src 'self'");
  assert.equal(policyOf(snippet, "script_tag"), "script-src 'self'; connect-src 'self'");
});

test("every platform has a name, steps and a note", () => {
  for (const texts of [en.platforms, en.steps, en.notes]) assert.deepEqual(Object.keys(texts), PLATFORMS);
});

test("the platform is remembered for each site; a new site starts with the latest choice", () => {
  assert.equal(keptPlatform("site_a"), "html");
  keepPlatform("site_a", "shopify");
  keepPlatform("site_b", "gtm");
  assert.deepEqual(["site_a", "site_b", "site_c"].map(keptPlatform), ["shopify", "gtm", "gtm"]);
  for (let i = 0; i < 150; i += 1) keepPlatform(`site_${i}`, "nextjs");
  assert.equal(JSON.parse(localStorage.getItem("platforms") ?? "").length, 100);
  for (const wrong of ["x", "5", '[["site_a","other"],7]', "null"]) {
    localStorage.setItem("platforms", wrong);
    assert.equal(keptPlatform("site_a"), "html");
  }
});
