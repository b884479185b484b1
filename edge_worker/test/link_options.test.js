import assert from "node:assert/strict";
import { test } from "node:test";

import { isOutside, outsideOf } from "../src/link_period.js";
import { bucketOf, variantOf } from "../src/link_split.js";

// rule Y17
test("a period begins at its start and ends just before its end", () => {
  const period = { starts_at: 2_000, ends_at: 3_000 };
  assert.deepEqual(
    [1_999, 2_000, 2_999, 3_000].map((at) => outsideOf(period, at)),
    ["early", "", "", "ended"],
  );
  assert.deepEqual([outsideOf({ starts_at: 2_000 }, 9_999), outsideOf({ ends_at: 3_000 }, 0)], ["", ""]);
  assert.equal(outsideOf({}, 0), "");
  assert.deepEqual(["early", "ended", "", "head", "constructor"].map(isOutside), [true, true, false, false, false]);
});

// rule Y16
test("buckets are spread evenly, and differ between days, links, addresses and agents", () => {
  const addresses = Array.from({ length: 20_000 }, (_, n) => `203.0.${n >> 8}.${n & 255}`);
  const buckets = addresses.map((address) => bucketOf("lnk_a", 20_000, address, "ua"));
  /** @type {number[]} */
  const counts = Array(100).fill(0);
  for (const bucket of buckets) counts[bucket] = (counts[bucket] ?? 0) + 1;
  // The expected count is 200 with a standard deviation of 14. The test cannot fail at random, because its input is
  // constant.
  assert.ok(Math.min(...counts) > 140 && Math.max(...counts) < 260, String(counts));
  /** @type {((address: string) => number)[]} */
  const others = [
    (address) => bucketOf("lnk_a", 20_001, address, "ua"),
    (address) => bucketOf("lnk_b", 20_000, address, "ua"),
    (address) => bucketOf("lnk_a", 20_000, address, "ub"),
    (address) => bucketOf("lnk_a", 20_000, `${address}0`, "ua"),
  ];
  for (const other of others) {
    const same = addresses.filter((address, n) => other(address) === buckets[n]).length;
    // The expected number is 200, with a standard deviation of 14.
    assert.ok(same > 140 && same < 260, `${same} of 20,000 visitors have the same bucket`);
    // Of the visitors of one variant, half get each variant of the other split.
    const first = addresses.filter((_, n) => (buckets[n] ?? 0) < 50);
    const share = first.filter((address) => other(address) < 50).length / first.length;
    assert.ok(share > 0.48 && share < 0.52, `${share} of the first variant's visitors`);
  }
});

test("each bucket belongs to one variant, in the order of the split", () => {
  const split = [
    { url: "a", share: 1 },
    { url: "b", share: 98 },
    { url: "c", share: 1 },
  ];
  assert.deepEqual(
    [0, 1, 98, 99].map((bucket) => variantOf(split, bucket)),
    ["a", "b", "b", "c"],
  );
  assert.equal(variantOf([{ url: "a", share: 50 }], 50), undefined);
});
