import assert from "node:assert/strict";
import { test } from "node:test";

import { reportCsv } from "../src/report-csv.js";

test("the export has the points of the chart, with unknown counts empty, and the lists", () => {
  const now = { views: 3, visitors: 2, bots: 1 };
  const csv = reportCsv(
    [
      { at: "2026-11-23T00:00:00.000Z", now: null, before: null },
      { at: "2026-11-24T00:00:00.000Z", now, before: { views: 5, visitors: 4, bots: 0 } },
    ],
    [
      { name: "pages", rows: [{ key: "/a,b", n: 2 }] },
      { name: "bots", rows: [{ key: "list", n: 7 }] },
    ],
  );
  assert.deepEqual(csv.split("\r\n"), [
    "list,key,views,visitors,bots,views_before",
    "time,2026-11-23T00:00:00.000Z,,,,",
    "time,2026-11-24T00:00:00.000Z,3,2,1,5",
    'pages,"/a,b",2,,,',
    "bots,list,,,7,",
    "",
  ]);
});

test("texts from visitors are neither formulas nor further fields or lines", () => {
  const keys = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", 'a"b', "a\r\nb", ""];
  const csv = reportCsv([], [{ name: "sources", rows: keys.map((key) => ({ key, n: 1 })) }]);
  assert.equal(
    csv.slice(csv.indexOf("\r\n") + 2),
    "sources,'=1+1,1,,,\r\nsources,'+1,1,,,\r\nsources,'-1,1,,,\r\nsources,'@SUM(A1),1,,,\r\n" +
      'sources,\'\t=1,1,,,\r\nsources,"a""b",1,,,\r\nsources,"a\r\nb",1,,,\r\nsources,,1,,,\r\n',
  );
});
