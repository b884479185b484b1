import assert from "node:assert/strict";
import { test } from "node:test";

import { edited, fromLocal, phasesOf, stateAt, toLocal } from "../src/schedule.js";

const START = "2026-12-01T09:00:00Z";
const END = "2026-12-24T18:00:00Z";

test("a link without a start and an end has one phase", () => {
  assert.deepEqual(phasesOf({ starts_at: null, ends_at: null }, 0), [
    { kind: "during", from: null, to: null, isNow: true },
  ]);
});

test("the start belongs to the time after it, and so does the end", () => {
  const schedule = { starts_at: START, ends_at: END };
  const kinds = [START, END].flatMap((at) => [Date.parse(at) - 1, Date.parse(at)].map((ms) => stateAt(schedule, ms)));
  assert.deepEqual(kinds, ["before", "during", "during", "after"]);
  assert.deepEqual(
    phasesOf(schedule, Date.parse(END)).map(({ from, to, isNow }) => [from, to, isNow]),
    [
      [null, START, false],
      [START, END, false],
      [END, null, true],
    ],
  );
});

test("a field shows a timestamp in local time, and keeps its seconds unless the user changes it", () => {
  const exact = "2026-12-01T09:00:30.5Z";
  const shown = toLocal(exact);
  assert.match(shown, /^2026-1[12]-\d\dT\d\d:\d\d$/);
  assert.equal(edited(shown, exact), exact);
  assert.equal(fromLocal(shown), new Date(Date.parse(exact) - 30_500).toISOString());
  assert.equal(edited("", exact), null);
  assert.equal(edited("2026-13-41T00:00", null), null);
  assert.equal(toLocal(null), "");
});
