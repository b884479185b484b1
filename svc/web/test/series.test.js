import assert from "node:assert/strict";
import { test } from "node:test";

import {
  addDays,
  isCompared,
  isWeekend,
  lastWeek,
  partsOf,
  runningSlot,
  scale,
  slotsOf,
  sum,
  weekNumber,
} from "../src/series.js";

const counts = { views: 3, visitors: 2, bots: 1 };
/** @param {string} day */
const midnight = (day) => `${day}T00:00:00.000Z`;
/** @param {string} day @param {string} end */
const part = (day, end) => ({ at: midnight(day), end: midnight(end) });

test("day arithmetic crosses months, years and daylight saving time", () => {
  assert.equal(addDays("2026-12-31", 1), "2027-01-01");
  assert.equal(addDays("2026-03-30", -2), "2026-03-28");
  assert.equal(addDays("2028-03-01", -1), "2028-02-29");
});

test("weeks begin on Monday, months on the first, and the first and last part have only days of the period", () => {
  assert.deepEqual(partsOf({ from: "2026-12-30", to: "2027-01-05" }, "week"), [
    part("2026-12-30", "2027-01-04"),
    part("2027-01-04", "2027-01-06"),
  ]);
  assert.deepEqual(partsOf({ from: "2028-01-31", to: "2028-03-01" }, "month"), [
    part("2028-01-31", "2028-02-01"),
    part("2028-02-01", "2028-03-01"),
    part("2028-03-01", "2028-03-02"),
  ]);
  assert.equal(partsOf({ from: "2016-12-01", to: "2026-11-30" }, "month").length, 120);
  assert.equal(partsOf({ from: "0001-01-01", to: "0001-12-31" }, "month").length, 12);
});

test("the parts of each step cover the period without gaps", () => {
  for (const by of /** @type {const} */ (["hour", "day", "week", "month"])) {
    for (let length = 1; length < 70; length += 3) {
      const to = addDays("2028-02-10", length - 1);
      const parts = partsOf({ from: "2028-02-10", to }, by);
      assert.equal(parts[0]?.at, midnight("2028-02-10"));
      assert.equal(parts.at(-1)?.end, midnight(addDays(to, 1)));
      assert.ok(parts.every(({ at }, i) => i === 0 || at === parts[i - 1]?.end));
    }
  }
});

test("weeks have their ISO number", () => {
  /** @type {[string, number][]} */
  const known = [
    ["2026-01-01", 1],
    ["2026-12-31", 53],
    ["2027-01-03", 53],
    ["2027-01-04", 1],
    ["2024-12-30", 1],
    ["2026-11-24", 48],
  ];
  for (const [day, week] of known) assert.equal(weekNumber(midnight(day)), week, day);
});

test("each day has a slot, even if unknown, aligned with the compared period", () => {
  const series = [{ at: midnight("2026-11-22"), ...counts }];
  const comparison = {
    from: "2026-11-09",
    to: "2026-11-15",
    totals: counts,
    series: [{ at: "2026-11-10T00:00:00Z", ...counts }],
  };
  const week = { from: "2026-11-16", to: "2026-11-22", by: /** @type {const} */ ("day"), series };
  const slots = slotsOf({ ...week, comparison });
  assert.deepEqual(
    slots.map(({ now }) => now?.views ?? null),
    [null, null, null, null, null, null, 3],
  );
  assert.deepEqual(
    slots.map(({ before }) => before?.views ?? null),
    [null, 3, null, null, null, null, null],
  );
  assert.deepEqual(slots[1]?.earlier, part("2026-11-10", "2026-11-11"));
  assert.equal(slotsOf(week)[1]?.earlier, null);
});

test("a compared period without counts is not drawn", () => {
  const none = { views: 0, visitors: 0, bots: 0 };
  const comparison = { from: "2026-11-20", to: "2026-11-20", totals: none, series: [] };
  assert.equal(isCompared(comparison), false);
  assert.equal(isCompared(undefined), false);
  assert.equal(isCompared({ ...comparison, totals: { ...none, bots: 1 } }), true);
  const day = { from: "2026-11-21", to: "2026-11-21", by: /** @type {const} */ ("day"), series: [] };
  assert.equal(slotsOf({ ...day, comparison })[0]?.earlier, null);
});

test("a month is compared with a shorter one, and both periods keep their dates", () => {
  const day = /** @type {const} */ ("day");
  const comparison = { from: "2026-02-01", to: "2026-02-28", totals: counts, series: [] };
  const slots = slotsOf({ from: "2026-03-01", to: "2026-03-31", by: day, series: [], comparison });
  assert.equal(slots.length, 31);
  assert.deepEqual(slots[27]?.earlier, part("2026-02-28", "2026-03-01"));
  assert.equal(slots[28]?.earlier, null);
});

test("today has 24 slots, including future hours", () => {
  const comparison = {
    from: "2026-11-21",
    to: "2026-11-21",
    totals: counts,
    series: [{ at: "2026-11-21T14:00:00.000Z", ...counts }],
  };
  const series = [{ at: "2026-11-22T13:00:00.000Z", ...counts }];
  const slots = slotsOf({ from: "2026-11-22", to: "2026-11-22", by: "hour", series, comparison });
  assert.equal(slots.length, 24);
  assert.equal(slots[13]?.now?.views, 3);
  assert.equal(slots[14]?.now, null);
  assert.equal(slots[14]?.before?.views, 3);
});

test("scale has at most six round integers and reaches the largest value", () => {
  assert.deepEqual(scale(0), [0, 1]);
  assert.deepEqual(scale(3), [0, 1, 2, 3]);
  assert.deepEqual(scale(76), [0, 25, 50, 75, 100]);
  for (let most = 0; most < 20_000; most += 7) {
    const ticks = scale(most);
    const [, step = 0] = ticks;
    assert.ok((ticks.at(-1) ?? 0) >= most && (ticks.at(-1) ?? 0) - step < Math.max(most, 1), `${most}: ${ticks}`);
    assert.ok(ticks.length <= 6 && ticks.every(Number.isInteger), `${most}: ${ticks}`);
  }
});

test("totals add up", () => {
  assert.deepEqual(sum([]), { views: 0, visitors: 0, bots: 0 });
  assert.deepEqual(
    sum([
      { at: "2026-11-10", ...counts },
      { at: "2026-11-11", ...counts },
    ]),
    { views: 6, visitors: 4, bots: 2 },
  );
});

test("the running slot contains the present moment, unless the period has ended", () => {
  const today = partsOf({ from: "2026-11-24", to: "2026-11-24" }, "hour");
  assert.equal(runningSlot(today, Date.parse("2026-11-24T05:59:59Z")), 5);
  assert.equal(runningSlot(today, Date.parse("2026-11-24T06:00:00Z")), 6);
  assert.equal(runningSlot(today, Date.parse("2026-11-25T00:00:00Z")), -1);
  const week = partsOf({ from: "2026-11-18", to: "2026-11-24" }, "day");
  assert.equal(runningSlot(week, Date.parse("2026-11-24T23:59:59Z")), 6);
  const months = partsOf({ from: "2026-10-01", to: "2026-11-24" }, "month");
  assert.equal(runningSlot(months, Date.parse("2026-11-24T12:00:00Z")), 1);
  const ended = partsOf({ from: "2026-10-01", to: "2026-11-10" }, "month");
  assert.equal(runningSlot(ended, Date.parse("2026-11-24T12:00:00Z")), -1);
  assert.deepEqual(
    week.map(({ at }) => isWeekend(at)),
    [false, false, false, true, true, false, false],
  );
});

test("the last week has seven complete days", () => {
  const week = { from: "2026-11-17", to: "2026-11-23" };
  assert.deepEqual(lastWeek(Date.parse("2026-11-24T00:00:00Z")), week);
  assert.deepEqual(lastWeek(Date.parse("2026-11-24T23:59:59Z")), week);
});
