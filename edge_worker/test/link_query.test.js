import assert from "node:assert/strict";
import { test } from "node:test";

import { MAX_TARGET_CHARS, parametersOf, withQuery } from "../src/link_query.js";
import { matchingRule } from "../src/link_rules.js";

/** @param {() => void} work @returns {number} how many query strings it parses */
function parsed(work) {
  const Original = URLSearchParams;
  const globals = /** @type {{URLSearchParams: typeof Original}} */ (/** @type {unknown} */ (globalThis));
  let count = 0;
  globals.URLSearchParams = class extends Original {
    /** @param {ConstructorParameters<typeof Original>} given */
    constructor(...given) {
      super(...given);
      count += 1;
    }
  };
  try {
    work();
  } finally {
    globals.URLSearchParams = Original;
  }
  return count;
}

test("a query is parsed once for all rules, and not for rules that need none", () => {
  const search = `?${"a=1&".repeat(4_000)}b=%32`;
  const click = { country: "DE", ua: "", search, headers: { get: () => null } };
  const misses = Array.from({ length: 9 }, (_, n) => ({ url: `${n}`, when: { query: { name: "a", value: `x${n}` } } }));
  const hit = { url: "hit", when: { query: { name: "b", value: "2" } } };
  assert.equal(
    parsed(() => assert.equal(matchingRule([...misses, hit], click), hit)),
    1,
  );
  const other = { url: "other", countries: ["DE"] };
  assert.equal(
    parsed(() => assert.equal(matchingRule([other, ...misses], click), other)),
    0,
  );
});

test("queries are read as the URL standard reads them, with and without encoded characters", () => {
  const parts = [
    "",
    "a",
    "a=",
    "a=1",
    "=1",
    "a=b=c",
    "b?",
    "?",
    "A=1",
    "%61=1",
    "a=%31",
    "a=x+y",
    "a=%",
    "ä=1",
    "a=\ud800",
  ];
  for (const first of parts) {
    for (const second of parts) {
      const search = `?${first}&${second}`;
      const expected = [...new URLSearchParams(search)];
      const found = parametersOf(search).filter(([name, value]) => name !== "" || value !== "");
      assert.deepEqual(found, expected, search);
    }
  }
});

test("parameters after the last that fits are not read", () => {
  const target = "https://example.com/";
  // One more character would make the target too long.
  const first = `a=${"x".repeat(MAX_TARGET_CHARS - target.length - 3)}`;
  const full = `${target}?${first}`;
  assert.equal(
    parsed(() => assert.equal(withQuery(target, `?${first}${"&%62=1".repeat(500)}`), full)),
    0,
  );
  // A parameter that does not fit does not prevent a shorter one after it from being added.
  assert.equal(withQuery(target, `?${first.slice(3)}&${"c".repeat(9)}&b`), `${target}?${first.slice(3)}&b`);
});
