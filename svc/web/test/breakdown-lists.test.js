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

test("the combined values are last, and shares refer to complete lists", () => {
  assert.deepEqual(
    shownLists("site", lists, [])[0]?.rows.map(({ key }) => key),
    ["a", "(other)"],
  );
  assert.deepEqual(listedCounts(lists), { views: 14, bots: 14 });
});
