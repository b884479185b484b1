import assert from "node:assert/strict";
import { test } from "node:test";

import {
  MOST,
  evenShares,
  largestShare,
  lettersOf,
  servedKey,
  targetsOf,
  withAnother,
  withShare,
  without,
} from "../src/split.js";

// The types of the Worker's runtime are not available here, so the compiler must not follow this import.
const worker = new URL("../../../edge_worker/src/links.js", import.meta.url).href;
const { servedKey: workersKey } = await import(worker);

/** @param {number[]} shares */
const areValid = (shares) =>
  shares.every((share) => Number.isInteger(share) && share >= 1) && shares.reduce((all, one) => all + one, 0) === 100;

test("the sum stays 100 with every change of every share", () => {
  for (let count = 2; count <= MOST; count += 1) {
    for (const begin of [evenShares(count), [largestShare(count), ...Array(count - 1).fill(1)]]) {
      assert.ok(areValid(begin), `${begin}`);
      for (let at = 0; at < count; at += 1) {
        for (const wanted of [-5, 0, 1, 2, 33, 50, 90, 99, 100, 1e9]) {
          const shares = withShare(begin, at, wanted);
          assert.ok(areValid(shares), `${begin}, ${at} to ${wanted}: ${shares}`);
          assert.equal(shares[at], Math.min(largestShare(count), Math.max(1, wanted)));
        }
      }
    }
  }
});

test("the other shares keep their proportions", () => {
  assert.deepEqual(withShare([50, 50], 0, 70), [70, 30]);
  assert.deepEqual(withShare([40, 40, 20], 2, 40), [30, 30, 40]);
  assert.deepEqual(withShare([98, 1, 1], 0, 34), [34, 33, 33]);
});

test("a variant is added with an equal share and removed again", () => {
  assert.deepEqual(withAnother([50, 50]), [34, 33, 33]);
  assert.deepEqual(withAnother([70, 30]), [47, 20, 33]);
  assert.deepEqual(without([34, 33, 33], 2), [51, 49]);
  let shares = evenShares(2);
  while (shares.length < MOST) {
    shares = withAnother(shares);
    assert.ok(areValid(shares), `${shares}`);
  }
  while (shares.length > 2) {
    shares = without(shares, 0);
    assert.ok(areValid(shares), `${shares}`);
  }
});

test("variants have the same keys in reports as in the Worker", () => {
  for (let length = 1; length <= 2048; length += 1) {
    const url = "https://shop.example/".padEnd(length, "abcdefghijklmnopqrstuvwxyz0123456789").slice(0, length);
    assert.equal(servedKey(url), workersKey(url));
  }
});

test("clicks on a long URL have the names of all variants with this key", () => {
  const long = (/** @type {string} */ middle) => `https://shop.example/${"a".repeat(150)}${middle}${"b".repeat(150)}`;
  const split = ["https://shop.example/", long("1"), long("2"), "https://shop.example/"].map((url) => ({ url }));
  assert.deepEqual(lettersOf(split, workersKey(long("1"))), ["B", "C"]);
  assert.deepEqual(lettersOf(split, "https://shop.example/"), ["A", "D"]);
  assert.deepEqual(lettersOf(split, "https://shop.example/other"), []);
  assert.deepEqual(lettersOf(null, "https://shop.example/"), []);
});

test("the variants replace the destination", () => {
  const split = ["https://a.example/", "https://b.example/"].map((url) => ({ url }));
  assert.deepEqual(targetsOf({ url: "https://c.example/", split }), ["https://a.example/", "https://b.example/"]);
  assert.deepEqual(targetsOf({ url: "https://c.example/", split: [] }), ["https://c.example/"]);
  assert.deepEqual(targetsOf({ url: "https://c.example/", split: null }), ["https://c.example/"]);
});
