import assert from "node:assert/strict";
import { test } from "node:test";

import { lengthOf, stepped, stepsFor, wholeMonths } from "../src/range-steps.js";
import { addDays } from "../src/series.js";

const TODAY = "2026-11-24";

/** @param {string} from @param {string} to @param {any} [period] */
const shown = (from, to, period = "custom") => ({ period, from, to });

test("months, years and days step to the period before", () => {
  /** @type {[ReturnType<typeof shown>, object][]} */
  const known = [
    [shown(TODAY, TODAY, "today"), { from: "2026-11-23", to: "2026-11-23" }],
    [shown("2026-11-18", TODAY, "7d"), { from: "2026-11-11", to: "2026-11-17" }],
    [shown("2026-11-01", TODAY, "month"), { from: "2026-10-01", to: "2026-10-31" }],
    [shown("2026-10-01", "2026-10-31", "last_month"), { from: "2026-09-01", to: "2026-09-30" }],
    [shown("2026-01-01", TODAY, "year"), { from: "2025-01-01", to: "2025-12-31" }],
    [shown("2025-12-01", TODAY, "12mo"), { from: "2024-12-01", to: "2025-11-30" }],
    [shown("2026-01-01", "2026-01-31"), { from: "2025-12-01", to: "2025-12-31" }],
    [shown("2024-03-01", "2024-03-31"), { from: "2024-02-01", to: "2024-02-29" }],
    [shown("2024-01-01", "2024-12-31"), { from: "2023-01-01", to: "2023-12-31" }],
    [shown("2024-02-29", "2024-02-29"), { from: "2024-02-28", to: "2024-02-28" }],
    [shown("2026-03-05", "2026-03-14"), { from: "2026-02-23", to: "2026-03-04" }],
  ];
  for (const [period, before] of known) assert.deepEqual(stepped(period, -1, TODAY), before, JSON.stringify(period));
});

test("the next period is named if it ends today, and there is none after today", () => {
  assert.deepEqual(stepped(shown("2026-10-01", "2026-10-31"), 1, TODAY), { period: "month" });
  assert.deepEqual(stepped(shown("2026-11-11", "2026-11-17"), 1, TODAY), { period: "7d" });
  assert.deepEqual(stepped(shown("2026-11-23", "2026-11-23", "yesterday"), 1, TODAY), { period: "today" });
  assert.deepEqual(stepped(shown("2025-01-01", "2025-12-31"), 1, TODAY), { period: "year" });
  assert.deepEqual(stepped(shown("2026-11-15", "2026-11-20"), 1, TODAY), { from: "2026-11-21", to: TODAY });
  assert.deepEqual(stepped(shown("2027-12-01", "2027-12-31"), 1, "2028-02-10"), {
    from: "2028-01-01",
    to: "2028-01-31",
  });
  for (const period of [
    shown(TODAY, TODAY, "today"),
    shown("2026-11-01", TODAY, "month"),
    shown("2026-11-25", TODAY),
  ]) {
    assert.equal(stepped(period, 1, TODAY), null);
  }
  assert.equal(stepped(shown("2020-01-01", TODAY, "all"), -1, TODAY), null);
});

test("on the first of a month, a week is still a week, and a month has one day", () => {
  assert.deepEqual(stepped(shown("2026-11-01", "2026-11-07", "7d"), -1, "2026-11-07"), {
    from: "2026-10-25",
    to: "2026-10-31",
  });
  assert.deepEqual(stepped(shown("2027-01-01", "2027-01-01", "month"), -1, "2027-01-01"), {
    from: "2026-12-01",
    to: "2026-12-31",
  });
  assert.deepEqual(stepped(shown("2026-12-01", "2026-12-31"), 1, "2027-01-01"), { period: "month" });
  assert.equal(wholeMonths(shown("2026-11-01", "2026-11-30", "30d"), "2026-11-30"), 0);
});

test("there is nothing before the year 1", () => {
  assert.equal(stepped(shown("0001-01-05", "0001-01-10"), -1, TODAY), null);
  assert.equal(stepped(shown("0001-01-01", "0001-12-31"), -1, TODAY), null);
});

test("a step back and forth returns to the same days", () => {
  for (let i = 0; i < 800; i += 7) {
    const from = addDays("2023-11-30", i);
    const days = { from, to: addDays(from, i % 45) };
    const before = stepped(shown(days.from, days.to), -1, "2030-01-01");
    assert.ok(before && "from" in before);
    if (wholeMonths(shown(days.from, days.to), "2030-01-01") === 0) assert.equal(lengthOf(before), lengthOf(days));
    assert.equal(addDays(before.to, 1), days.from);
  }
});

test("the offered steps suit the period, and include the one that is shown", () => {
  assert.deepEqual(stepsFor({ from: TODAY, to: TODAY, by: "hour" }, TODAY), ["hour"]);
  assert.deepEqual(stepsFor({ from: "2026-11-18", to: TODAY, by: "day" }, TODAY), ["hour", "day"]);
  assert.deepEqual(stepsFor({ from: "2026-10-26", to: TODAY, by: "day" }, TODAY), ["day", "week"]);
  assert.deepEqual(stepsFor({ from: "2025-12-01", to: TODAY, by: "month" }, TODAY), ["day", "week", "month"]);
  assert.deepEqual(stepsFor({ from: "2016-11-25", to: TODAY, by: "month" }, TODAY), ["month"]);
  assert.deepEqual(stepsFor({ from: "2026-01-05", to: "2026-01-05", by: "day" }, TODAY), ["day"]);
  assert.deepEqual(stepsFor({ from: "2026-10-26", to: TODAY, by: "month" }, TODAY), ["day", "week", "month"]);
});
