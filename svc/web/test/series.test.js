import assert from "node:assert/strict";
import { test } from "node:test";

import {
  addDays,
  firstListed,
  isWeekend,
  lastWeek,
  periodBefore,
  runningSlot,
  scale,
  slotsOf,
  sum,
  sumFrom,
} from "../src/series.js";

const counts = { views: 3, visitors: 2, bots: 1 };

test("day arithmetic crosses months, years and daylight saving time", () => {
  assert.equal(addDays("2026-12-31", 1), "2027-01-01");
  assert.equal(addDays("2026-03-30", -2), "2026-03-28");
  assert.deepEqual(periodBefore({ from: "2026-11-16", to: "2026-11-22" }), { from: "2026-11-09", to: "2026-11-15" });
  assert.deepEqual(periodBefore({ from: "2026-03-01", to: "2026-03-01" }), { from: "2026-02-28", to: "2026-02-28" });
});

test("each day has a slot, even if unknown, aligned with the previous period", () => {
  const week = { period: /** @type {const} */ ("7d"), from: "2026-11-16", to: "2026-11-22" };
  const series = [{ at: "2026-11-22T00:00:00.000Z", ...counts }];
  const slots = slotsOf({ ...week, series }, [{ at: "2026-11-10", ...counts }]);
  assert.equal(slots.length, 7);
  assert.deepEqual(
    slots.map(({ now }) => now?.views ?? null),
    [null, null, null, null, null, null, 3],
  );
  assert.deepEqual(
    slots.map(({ before }) => before?.views),
    [0, 3, 0, 0, 0, 0, 0],
  );
  assert.equal(slotsOf({ ...week, series }, null)[0]?.before, null);
});

test("breakdowns of fewer days than the report give their first day and their totals", () => {
  assert.equal(firstListed({ from: "2026-11-16", breakdowns_from: "2026-11-16" }), null);
  assert.equal(firstListed({ from: "2026-11-16", breakdowns_from: null }), null);
  assert.equal(firstListed({ from: "2026-11-16", breakdowns_from: "2026-11-20" }), "2026-11-20");
  const series = ["19", "20", "21"].map((day) => ({ at: `2026-11-${day}T00:00:00.000Z`, ...counts }));
  assert.deepEqual(sumFrom({ series }, "2026-11-20"), { views: 6, visitors: 4, bots: 2 });
});

test("today has 24 slots, including future hours", () => {
  const today = { period: /** @type {const} */ ("today"), from: "2026-11-22", to: "2026-11-22" };
  const series = [{ at: "2026-11-22T13:00:00.000Z", ...counts }];
  const slots = slotsOf({ ...today, series }, [{ at: "2026-11-21T14:00:00.000Z", ...counts }]);
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

test("the running slot is the hour or day that contains the present moment", () => {
  const today = slotsOf({ period: "today", from: "2026-11-24", to: "2026-11-24", series: [] }, null);
  assert.equal(runningSlot(today, true, Date.parse("2026-11-24T05:59:59Z")), 5);
  assert.equal(runningSlot(today, true, Date.parse("2026-11-24T06:00:00Z")), 6);
  assert.equal(runningSlot(today, true, Date.parse("2026-11-25T00:00:00Z")), -1);
  const week = slotsOf({ period: "7d", from: "2026-11-18", to: "2026-11-24", series: [] }, null);
  assert.equal(runningSlot(week, false, Date.parse("2026-11-24T23:59:59Z")), 6);
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
