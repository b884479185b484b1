import assert from "node:assert/strict";
import { test } from "node:test";

import { MOST_IDS, inBatches } from "../src/batches.js";

/** @param {number} count */
const idsOf = (count) => Array.from({ length: count }, (_, i) => `link-${i}`);

test("each id is sent once and in order, in requests of at most 1,000", async () => {
  assert.equal(MOST_IDS, 1000);
  for (const [count, sizes] of /** @type {[number, number[]][]} */ ([
    [0, []],
    [1, [1]],
    [1000, [1000]],
    [1001, [1000, 1]],
    [10_000, Array(10).fill(1000)],
  ])) {
    /** @type {string[][]} */
    const sent = [];
    const results = await inBatches(idsOf(count))(async (ids, part) => {
      assert.equal(part, sent.length);
      sent.push(ids);
      return ids.map((id) => ({ id }));
    });
    assert.deepEqual(
      sent.map((ids) => ids.length),
      sizes,
    );
    assert.deepEqual(sent.flat(), idsOf(count));
    assert.deepEqual(
      results.map(({ id }) => id),
      idsOf(count),
    );
  }
});

test("a retry continues with the part that failed, and returns the results of all parts", async () => {
  const send = inBatches(idsOf(2500));
  /** @type {number[]} */
  const parts = [];
  await assert.rejects(
    send(async (ids, part) => {
      parts.push(part);
      if (part === 1) throw new Error("unavailable");
      return ids;
    }),
    /unavailable/,
  );
  const results = await send(async (ids, part) => {
    parts.push(part);
    return ids;
  });
  assert.deepEqual(parts, [0, 1, 1, 2]);
  assert.deepEqual(results, idsOf(2500));
});
