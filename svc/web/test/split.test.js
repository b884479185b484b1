import assert from "node:assert/strict";
import { test } from "node:test";

import { MOST, evenShares, largestShare, withAnother, withShare, without } from "../src/split.js";

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
