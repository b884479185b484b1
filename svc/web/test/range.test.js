import assert from "node:assert/strict";
import { test } from "node:test";

import { changed, comparisonOf, rangeOf, withRange, withoutRange } from "../src/range.js";

/** @param {string} query */
const search = (query) => new URLSearchParams(query);
/** @param {object} range @returns {object} the parameters that are sent */
const sent = (range) => Object.fromEntries(Object.entries(range).filter(([, value]) => value !== undefined));

test("without a period, a report has the last seven days by day", () => {
  assert.deepEqual(sent(rangeOf(search(""))), { period: "7d", by: "day" });
  assert.deepEqual(sent(rangeOf(search("period=&from=&to=&by="))), { period: "7d", by: "day" });
  assert.deepEqual(sent(rangeOf(search("period=today"))), { period: "today", by: "hour" });
  assert.deepEqual(sent(rangeOf(search("period=12mo"))), { period: "12mo" });
  assert.deepEqual(sent(rangeOf(search("from=2026-01-01&to=2026-02-01"))), { from: "2026-01-01", to: "2026-02-01" });
  assert.deepEqual(sent(rangeOf(search("period=30d&by=week&color=red"))), { period: "30d", by: "week" });
});

test("values are not checked, because the service rejects invalid ones with an error", () => {
  assert.deepEqual(sent(rangeOf(search("period=foo"))), { period: "foo" });
  assert.deepEqual(sent(rangeOf(search("period=7d&from=x"))), { period: "7d", from: "x" });
  assert.equal(comparisonOf(search("compare=foo")), "foo");
});

test("a report is compared with the period before, unless the URL says otherwise", () => {
  assert.equal(comparisonOf(search("")), "previous");
  assert.equal(comparisonOf(search("compare=year")), "year");
  assert.equal(comparisonOf(search("compare=off")), undefined);
  assert.equal(comparisonOf(search("period=all&compare=year")), undefined);
});

test("another period keeps the display options and drops the step", () => {
  const before = search("period=30d&by=week&compare=year&bots=on");
  assert.equal(withRange(before, { period: "month" }), "?period=month&compare=year&bots=on");
  assert.equal(
    withRange(before, { from: "2026-01-01", to: "2026-01-31" }),
    "?compare=year&bots=on&from=2026-01-01&to=2026-01-31",
  );
  assert.equal(withoutRange(before), "?bots=on");
  assert.equal(changed(before, { by: "day", compare: undefined }), "?period=30d&by=day&bots=on");
});
