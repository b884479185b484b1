import assert from "node:assert/strict";
import { test } from "node:test";

import { reportCsv } from "../src/report-csv.js";

const HEADER =
  "list,key,views,visitors,bots,key_before,views_before,visitors_before,bots_before,source,estimated,estimated_before";
const now = { views: 3, visitors: 2, bots: 1 };
const before = { views: 5, visitors: 4, bots: 0 };

/** @param {string} day @returns {import("../src/series.js").Part} */
const dayOf = (day) => ({ at: `${day}T00:00:00.000Z`, end: `${day}T24:00:00.000Z` });

test("the export has the points of the chart with both dates, unknown counts empty, and the lists", () => {
  const csv = reportCsv(
    [
      { ...dayOf("2026-11-23"), now: null, before: null, earlier: null },
      { ...dayOf("2026-11-24"), now, before, earlier: dayOf("2026-11-17") },
      { ...dayOf("2026-11-25"), now: { ...now, estimated: true }, before, earlier: dayOf("2026-11-18") },
      { ...dayOf("2026-11-26"), now, before: { ...before, estimated: true }, earlier: dayOf("2026-11-19") },
    ],
    "day",
    [
      { name: "pages", rows: [{ key: "/a,b", n: 2 }] },
      { name: "bots", rows: [{ key: "list", n: 7 }] },
      { name: "arrivals", source: "t.co", rows: [{ key: "/a", n: 3 }] },
      { name: "arrivals", source: "=1+1", rows: [{ key: "/", n: 1 }] },
    ],
  );
  assert.deepEqual(csv.split("\r\n"), [
    HEADER,
    "time,2026-11-23,,,,,,,,,,",
    "time,2026-11-24,3,2,1,2026-11-17,5,4,0,,,",
    "time,2026-11-25,3,2,1,2026-11-18,5,4,0,,1,",
    "time,2026-11-26,3,2,1,2026-11-19,5,4,0,,,1",
    'pages,"/a,b",2,,,,,,,,,',
    "bots,list,,,7,,,,,,,",
    "arrivals,/a,3,,,,,,,t.co,,",
    "arrivals,/,1,,,,,,,'=1+1,,",
    "",
  ]);
});

test("an hour has its time as the key", () => {
  const hour = { at: "2026-11-24T13:00:00.000Z", end: "2026-11-24T14:00:00.000Z" };
  const csv = reportCsv([{ ...hour, now, before: null, earlier: null }], "hour", []);
  assert.deepEqual(csv.split("\r\n"), [HEADER, "time,2026-11-24T13:00:00.000Z,3,2,1,,,,,,,", ""]);
});

test("texts from visitors are neither formulas nor further fields or lines", () => {
  const keys = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", 'a"b', "a\r\nb", ""];
  const csv = reportCsv([], "day", [{ name: "sources", rows: keys.map((key) => ({ key, n: 1 })) }]);
  const rest = ",1,,,,,,,,,\r\n";
  assert.equal(
    csv.slice(csv.indexOf("\r\n") + 2),
    ["'=1+1", "'+1", "'-1", "'@SUM(A1)", "'\t=1", '"a""b"', '"a\r\nb"', ""]
      .map((key) => `sources,${key}${rest}`)
      .join(""),
  );
});
