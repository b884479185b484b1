import assert from "node:assert/strict";
import { test } from "node:test";

import { listedCounts, shownLists } from "../src/breakdown-lists.js";

const rows = [
  { key: "(other)", n: 9 },
  { key: "a", n: 5 },
];
const lists = {
  ...{ pages: rows, sources: [], countries: [], devices: [], browsers: [], os: [], bots: rows },
  ...{ channels: rows, entries: rows, campaigns: [], targets: [] },
};

test("empty campaigns and targets are omitted, and links have no pages", () => {
  const names = shownLists("site", lists, []).map(({ name }) => name);
  assert.deepEqual(names.slice(0, 4), ["pages", "entries", "sources", "channels"]);
  assert.ok(!names.includes("campaigns") && !names.includes("targets") && names.includes("os"));
  const ofLink = shownLists("link", { ...lists, campaigns: rows, targets: rows }, []).map(({ name }) => name);
  assert.ok(ofLink.includes("campaigns") && ofLink.includes("targets") && !ofLink.includes("pages"));
});

test("clicks outside of the schedule are listed only if there are any", () => {
  const outside = [{ key: "ended", n: 3 }];
  const names = (/** @type {typeof lists & {outside?: typeof outside}} */ some) =>
    shownLists("link", some, []).map(({ name }) => name);
  assert.ok(!names(lists).includes("outside") && !names({ ...lists, outside: [] }).includes("outside"));
  assert.ok(names({ ...lists, outside }).includes("outside"));
  // Clicks outside of the link's period are not part of the clicks.
  assert.deepEqual(listedCounts({ ...lists, outside }), { views: 14, bots: 14 });
});

test("the combined values are last, and shares refer to complete lists", () => {
  assert.deepEqual(
    shownLists("site", lists, [])[0]?.rows.map(({ key }) => key),
    ["a", "(other)"],
  );
  assert.deepEqual(listedCounts(lists), { views: 14, bots: 14 });
});

test("the entry pages of a source follow the sources, and the rest of its visits is one entry", () => {
  const arrivals = [
    { source: "t.co", page: "/a", n: 4 },
    { source: "", page: "/", n: 3 },
    { source: "t.co", page: "/", n: 1 },
    { source: "(other)", page: "(other)", n: 9 },
  ];
  const sources = [
    { key: "t.co", n: 7 },
    { key: "", n: 3 },
  ];
  /** @param {string | null} source @param {"site" | "link"} [kind] */
  const shown = (source, kind = "site") => shownLists(kind, { ...lists, sources, arrivals }, [], source);
  assert.deepEqual(
    shown("t.co")
      .map(({ name }) => name)
      .slice(2, 4),
    ["sources", "arrivals"],
  );
  /** @param {string | null} source */
  const found = (source) => shown(source).find(({ name }) => name === "arrivals");
  assert.deepEqual(found("t.co"), {
    name: "arrivals",
    source: "t.co",
    total: 3,
    rows: [
      { key: "/a", n: 4 },
      { key: "/", n: 1 },
      { key: "(other)", n: 2 },
    ],
  });
  assert.deepEqual(found("")?.rows, [{ key: "/", n: 3 }], "visits without a source");
  assert.deepEqual(found("unknown.example")?.rows, []);
  for (const source of [null, "(other)", "(internal)"]) assert.equal(found(source), undefined);
  assert.equal(
    shownLists("site", { ...lists, sources }, [], "t.co").some(({ name }) => name === "arrivals"),
    false,
    "an older Worker does not count them",
  );
});
