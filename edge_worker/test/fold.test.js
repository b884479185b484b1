import assert from "node:assert/strict";
import { test } from "node:test";

import { windowMs } from "../src/budget.js";
import { closeLine, encodeEvent, readLines } from "../src/event_log.js";
import { OTHER, addLines, dayKey, daysOf, emptySums, mergeCapped, mergeDay } from "../src/fold.js";
import vocabulary from "../src/vocabulary.json" with { type: "json" };

const HOUR = 500_001;
const DAY = Math.floor(HOUR / 24);
const PAGES_CAP = vocabulary.dimensions.pages.keys;

/** @type {import("../src/event_log.js").Event} */
const EVENT = {
  target: "site_a",
  hour: HOUR,
  reason: "",
  page: "/",
  source: "",
  country: "DE",
  device: "mobile",
  browser: "Safari",
  os: "iOS",
  campaign: "",
  served: "",
};

/** @param {import("../src/event_log.js").Event} event @param {string} visitor @param {boolean} withDetail */
const lineOf = (event, visitor, withDetail) => closeLine(encodeEvent(event, withDetail), visitor);

/** @param {string[]} lines */
function fold(...lines) {
  const sums = emptySums();
  addLines(sums, readLines(lines.join("")), 0);
  return sums;
}

/** @param {import("../src/fold.js").Sums} sums */
function dayOf(sums) {
  const day = sums.days.get(dayKey("site_a", DAY));
  assert.ok(day);
  return day;
}

// rule Y17
test("clicks outside of a link's period are neither views nor bots, and belong to no hour", () => {
  const early = lineOf({ ...EVENT, reason: "early" }, "", true);
  assert.equal(early, `["site_a",${HOUR},"early",""]\n`);
  const sums = fold(early, early, lineOf({ ...EVENT, reason: "ended" }, "", true));
  assert.equal(sums.hours.size, 0);
  const totals = mergeDay(undefined, dayOf(sums));
  assert.deepEqual([totals.views, totals.bots, totals.pages], [0, {}, {}]);
  assert.deepEqual(totals.outside, { early: 2, ended: 1 });
  const more = fold(early, lineOf(EVENT, "AAAAAAAA", true), lineOf({ ...EVENT, reason: "head" }, "", true));
  const merged = mergeDay(JSON.stringify(totals), dayOf(more));
  assert.deepEqual([merged.views, merged.bots, merged.outside], [1, { head: 1 }, { early: 3, ended: 1 }]);
  const late = emptySums();
  addLines(late, readLines(early), DAY);
  assert.deepEqual([late.tooOld, late.late.size, late.days.size], [1, 0, 0]);
});

test("a day without clicks outside of a period has no list for them", () => {
  assert.ok(!("outside" in mergeDay(undefined, dayOf(fold(lineOf(EVENT, "AAAAAAAA", true))))));
});

// rule W2
test("views, bots and visitors are added up by target and hour", () => {
  const sums = fold(
    lineOf(EVENT, "AAAAAAAA", true),
    lineOf(EVENT, "AAAAAAAA", true),
    lineOf({ ...EVENT, hour: HOUR + 1 }, "BBBBBBBB", true),
    lineOf({ ...EVENT, reason: "head" }, "", true),
  );
  assert.deepEqual(
    [...sums.hours.values()],
    [
      { target: "site_a", day: DAY, hour: HOUR % 24, views: 2, bots: 1, visitors: new Set(["AAAAAAAA"]) },
      { target: "site_a", day: DAY, hour: (HOUR % 24) + 1, views: 1, bots: 0, visitors: new Set(["BBBBBBBB"]) },
    ],
  );
});

test("detail counts people only, bots count by reason", () => {
  const sums = fold(lineOf(EVENT, "A", true), lineOf({ ...EVENT, reason: "list" }, "", true));
  const day = mergeDay(undefined, dayOf(sums));
  assert.deepEqual(day, {
    views: 1,
    pages: { "/": 1 },
    sources: { "": 1 },
    countries: { DE: 1 },
    devices: { mobile: 1 },
    browsers: { Safari: 1 },
    os: { iOS: 1 },
    bots: { list: 1 },
    campaigns: {},
    entries: { "/": 1 },
    arrivals: { " /": 1 },
    targets: {},
  });
});

test("a view that follows another one on the site is not an entry", () => {
  const sums = fold(
    lineOf({ ...EVENT, source: "a.example", campaign: "spring sale" }, "A", true),
    lineOf({ ...EVENT, source: "spring news" }, "B", true),
    lineOf({ ...EVENT, page: "/b", source: "(internal)", campaign: "spring sale" }, "A", true),
    lineOf({ ...EVENT, reason: "list", source: "a.example", campaign: "bots" }, "", true),
    lineOf(EVENT, "C", false),
  );
  const { pages, campaigns, entries, arrivals } = mergeDay(undefined, dayOf(sums));
  assert.deepEqual(pages, { "/": 2, "/b": 1, [OTHER]: 1 });
  assert.deepEqual(campaigns, { "spring sale": 2 });
  assert.deepEqual(entries, { "/": 2 });
  assert.deepEqual(arrivals, { "a.example /": 1, "spring news /": 1 });
});

test("a click on a link with rules is counted by its target, and no click is an entry", () => {
  const click = { ...EVENT, page: "" };
  const sums = fold(
    lineOf({ ...click, served: "https://a.example/" }, "A", true),
    lineOf({ ...click, served: "https://a.example/", campaign: "mail" }, "B", true),
    lineOf(click, "C", true),
  );
  const day = mergeDay(undefined, dayOf(sums));
  assert.deepEqual(day.targets, { "https://a.example/": 2 });
  assert.deepEqual(day.campaigns, { mail: 1 });
  assert.deepEqual([day.entries, day.arrivals], [{}, {}]);
});

test("a day that an older worker began has no partial lists", () => {
  const older = '{"views":1,"pages":{"/":1},"sources":{"":1},"bots":{}}';
  const day = mergeDay(older, dayOf(fold(lineOf({ ...EVENT, campaign: "mail" }, "A", true))));
  assert.deepEqual([day.views, day.pages], [2, { "/": 2 }]);
  assert.deepEqual(
    [day.campaigns, day.entries, day.arrivals, day.targets],
    [undefined, undefined, undefined, undefined],
  );
});

// rule W6
test("a breakdown is also limited in bytes, and a shorter key can still fit", () => {
  const cap = { keys: 10, bytes: 10 };
  const counts = mergeCapped({ abc: 1 }, [["defg", 1], ["xxxx", 1], ["é", 1], ["defg", 1], ["y", 1]], cap); // prettier-ignore
  assert.deepEqual(counts, { abc: 1, defg: 2, [OTHER]: 2, é: 1 });
  assert.deepEqual(mergeCapped({ [OTHER]: 5 }, [["abcdefghij", 1]], cap), { [OTHER]: 5, abcdefghij: 1 });
});

test("a day's row has a maximum size for any input", () => {
  const lines = Array.from({ length: 500 }, (_, i) => {
    const page = `/${String(i).padStart(4, "0")}${"p".repeat(195)}`;
    const source = `${i}${"日".repeat(46)}`;
    return lineOf({ ...EVENT, page, source, campaign: `${source}c`, served: `${page}x` }, "A", true);
  });
  const day = mergeDay(undefined, dayOf(fold(...lines)));
  for (const [name, { bytes }] of Object.entries(vocabulary.dimensions)) {
    const counts = day[/** @type {keyof typeof vocabulary.dimensions} */ (name)] ?? {};
    const keys = Object.keys(counts).filter((key) => key !== OTHER);
    assert.ok(Buffer.byteLength(keys.join("")) <= bytes, name);
  }
  assert.equal(day.arrivals?.[OTHER], 500 - (Object.keys(day.arrivals ?? {}).length - 1));
  // The limits of pages and sources alone allow 55,000 bytes of keys.
  assert.ok(Buffer.byteLength(JSON.stringify(day)) < 85_000);
});

// rule W6
test("keys past the cap are counted under (other), and no event is lost", () => {
  const lines = Array.from({ length: PAGES_CAP + 50 }, (_, i) => lineOf({ ...EVENT, page: `/p${i}` }, "A", true));
  let stored;
  for (let i = 0; i < 3; i += 1) {
    const sums = fold(...lines);
    stored = mergeDay(stored && JSON.stringify(stored), dayOf(sums));
  }
  const pages = stored?.pages ?? {};
  assert.equal(Object.keys(pages).length, PAGES_CAP + 1);
  assert.equal(pages[OTHER], 150);
  assert.equal(
    Object.values(pages).reduce((sum, n) => sum + n, 0),
    stored?.views,
  );
});

test("folding in two steps gives the same result as in one", () => {
  const lines = Array.from({ length: 900 }, (_, i) =>
    lineOf(
      { ...EVENT, page: `/p${(i * 7) % 311}`, source: `s${(i * 3) % 131}`, campaign: `c${(i * 5) % 83}` },
      String(i % 50),
      true,
    ),
  );
  const whole = mergeDay(undefined, dayOf(fold(...lines)));
  const half = mergeDay(undefined, dayOf(fold(...lines.slice(0, 400))));
  const both = mergeDay(JSON.stringify(half), dayOf(fold(...lines.slice(400))));
  assert.deepEqual(both, whole);
});

test("detail omitted by the write budget counts as (other)", () => {
  const line = lineOf(EVENT, "A", false);
  assert.deepEqual(JSON.parse(line), ["site_a", HOUR, "", "A"]);
  const day = mergeDay(undefined, dayOf(fold(line)));
  assert.deepEqual(day.pages, { [OTHER]: 1 });
  assert.deepEqual(day.os, { [OTHER]: 1 });
  assert.equal(day.views, 1);
});

test("keys with a special meaning in JavaScript are counted like others", () => {
  const merged = mergeCapped(
    JSON.parse('{"__proto__": 2}'),
    new Map([
      ["__proto__", 1],
      ["constructor", 1],
    ]),
    { keys: 10, bytes: 1_000 },
  );
  assert.equal(JSON.stringify(merged), '{"__proto__":3,"constructor":1}');
  const fresh = mergeCapped(
    {},
    new Map([
      ["__proto__", 1],
      ["toString", 1],
    ]),
    { keys: 10, bytes: 1_000 },
  );
  assert.equal(JSON.stringify(fresh), '{"__proto__":1,"toString":1}');
});

test("a line is ASCII for any input, and decodes to that input", () => {
  const line = lineOf({ ...EVENT, source: "größe/🙂" }, "A", true);
  // eslint-disable-next-line no-control-regex -- ASCII is what the test checks
  assert.match(line, /^[\x00-\x7f]+$/);
  assert.equal(JSON.parse(line)[5], "größe/🙂");
});

test("a fold's days are those of the first lines, up to a limit", () => {
  const lines = readLines(["a", "b", "a", "c", "b"].map((target) => lineOf({ ...EVENT, target }, "A", true)).join(""));
  assert.deepEqual(daysOf(lines, 0, 2), {
    keys: [
      ["a", DAY],
      ["b", DAY],
    ],
    firsts: [0, 1],
    end: 3,
  });
  assert.deepEqual(daysOf(lines, 0, 3).end, 5);
  assert.deepEqual(daysOf(lines, DAY, 1), { keys: [], firsts: [], end: 5 });
});

// rule W4
test("events of a closed day are counted as too late", () => {
  const sums = emptySums();
  addLines(sums, readLines(lineOf(EVENT, "A", true)), DAY);
  assert.equal(sums.tooOld, 1);
  assert.equal(sums.days.size, 0);
});

test("a malformed line does not affect other lines", () => {
  const sums = emptySums();
  addLines(sums, readLines(`${lineOf(EVENT, "A", true)}["site_a",\n${lineOf(EVENT, "B", true)}`), 0);
  assert.equal(sums.invalid, 1);
  assert.equal([...sums.hours.values()][0]?.views, 2);
});

// rule W5
test("the smaller the remaining budget, the longer events are buffered", () => {
  const windows = [0, 1, 2, 3].map(windowMs);
  assert.deepEqual(
    windows,
    [...windows].sort((a, b) => a - b),
  );
  // The platform ends waitUntil 30 s after the response. After this window, the previous write and this write must end
  // within the remaining time.
  assert.ok(/** @type {number} */ (windows[3]) <= 20_000);
});
