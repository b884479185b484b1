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
test("buckets are spread evenly, and differ between days, links, addresses and agents", async () => {
  const buckets = await Promise.all(Array.from({ length: 20_000 }, (_, n) => bucketOf("lnk_a", 20_000, `a${n}`, "ua")));
  /** @type {number[]} */
  const counts = Array(100).fill(0);
  for (const bucket of buckets) counts[bucket] = (counts[bucket] ?? 0) + 1;
  // The expected count is 200 with a standard deviation of 14. The test cannot fail at random, because its input is
  // constant.
  assert.ok(Math.min(...counts) > 140 && Math.max(...counts) < 260, String(counts));
  const others = await Promise.all(
    Array.from({ length: 200 }, async (_, n) => [
      await bucketOf("lnk_a", 20_001, `a${n}`, "ua"),
      await bucketOf("lnk_b", 20_000, `a${n}`, "ua"),
      await bucketOf("lnk_a", 20_000, `a${n}`, "ub"),
    ]),
  );
  for (const i of [0, 1, 2]) {
    const same = others.filter((bucket, n) => bucket[i] === buckets[n]).length;
    assert.ok(same < 15, `${same} of 200 visitors have the same bucket`);
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
