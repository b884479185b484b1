import assert from "node:assert/strict";
import { test } from "node:test";

import { partStatements } from "../src/outbox.js";

/** A database that returns the bound values instead of executing a statement. */
const database = /** @type {any} */ ({ prepare: () => ({ bind: (/** @type {unknown[]} */ ...values) => values }) });

/** @param {number} targets @param {number[]} hours @returns {number[][]} [id, limit, offset] of each part */
function parts(targets, hours) {
  const closing = { day: 20_000, hours, refused: [], last: 23, final: true, targets };
  const statements = /** @type {any[]} */ (partStatements(database, closing, 7, 0));
  return statements.map((values) => [values[0], values[9], values[10]]);
}

const DAY = Array.from({ length: 24 }, (_, hour) => hour);

// rule W5
test("a closing covers every target once, with at most as many parts as a run has queries", () => {
  for (const [targets, hours] of /** @type {[number, number[]][]} */ ([
    [0, []],
    [1, [3]],
    [1_001, [3]],
    [20_000, DAY],
  ])) {
    const found = parts(targets, hours);
    assert.ok(found.length >= 1 && found.length <= 15, `${found.length} parts`);
    let covered = 0;
    for (const [i, [id, limit = 0, offset]] of found.entries()) {
      assert.deepEqual([id, offset], [7 + i, covered]);
      covered += limit;
    }
    assert.ok(covered >= targets);
  }
});

test("parts are small unless there are too many", () => {
  const [[, limit = 0] = []] = parts(1_000, DAY);
  assert.ok(limit * 25 * 60 <= 120_000);
});
