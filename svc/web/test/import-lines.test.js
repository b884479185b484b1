import assert from "node:assert/strict";
import { test } from "node:test";

import { decoded, inRequests, readLines } from "../src/import-lines.js";

/** @param {string} text @returns {unknown[]} line number, URL and code, or line number and fault */
const short = (text) =>
  readLines(text).map((line) => ("row" in line ? [line.line, line.row.url, line.row.code] : [line.line, line.fault]));

test("lines contain a URL with or without a code", () => {
  assert.deepEqual(short("https://a.example,one\r\n\r\nhttps://b.example\n,two\n"), [
    [1, "https://a.example", "one"],
    [3, "https://b.example", null],
    [4, "noAddress"],
  ]);
  assert.deepEqual(short("https://a.example\tone"), [[1, "https://a.example", "one"]]);
  assert.deepEqual(short("a.example/menu\nhttp://b.example,two\nnot a URL"), [
    [1, "https://a.example/menu", null],
    [2, "http://b.example", "two"],
    [3, "not a URL", null],
  ]);
});

test("exports of other products are recognized by their columns", () => {
  assert.deepEqual(short('"Short link";"Destination URL"\nhttps://sho.rt/abc?x;"https://a.example/?a=1;b"'), [
    [2, "https://a.example/?a=1;b", "abc"],
  ]);
  assert.deepEqual(short('\ufeffsep=;\nkeyword;url;title\nabc;https://a.example;"a\n""b"""\nd;;'), [
    [3, "https://a.example", "abc"],
    [5, "noAddress"],
  ]);
  const [ruled, not] = readLines('code,url,rules\na,https://a.example,"[{""url"":""https://b.example""}]"\nb,c,{}');
  assert.deepEqual(ruled && "row" in ruled && ruled.row.rules, [{ url: "https://b.example" }]);
  assert.equal(not && "fault" in not && not.fault, "noRules");
});

test("JSON is read as lines and as a list", () => {
  assert.deepEqual(short('{"url":"https://a.example","code":"x"}\n{"code":"x"}\n{oops\n'), [
    [1, "https://a.example", "x"],
    [2, "noAddress"],
    [3, "noJson"],
  ]);
  assert.deepEqual(short('[{"url":"https://a.example"}, 7]'), [
    [1, "https://a.example", null],
    [2, "noJson"],
  ]);
  assert.deepEqual(short("[oops"), [[1, "noJson"]]);
  assert.deepEqual(short(""), []);
});

test("requests have at most 1,000 rows and less than 1 MB", () => {
  const rows = (/** @type {number} */ count, /** @type {string} */ url) =>
    Array.from({ length: count }, () => ({ row: { url, code: null } }));
  const sizes = (/** @type {{row: {url: string, code: null}}[]} */ lines) => inRequests(lines).map((one) => one.length);
  assert.deepEqual(sizes(rows(2_001, "https://a.example")), [1_000, 1_000, 1]);
  assert.deepEqual(sizes(rows(100, "x".repeat(20_000))), [44, 44, 12]);
  assert.deepEqual(sizes([]), []);
});

test("files are decoded as UTF-8, UTF-16 or Windows-1252", () => {
  const text = (/** @type {number[]} */ bytes) => decoded(new Uint8Array(bytes).buffer);
  assert.equal(text([0xc3, 0xbc]), "ü");
  assert.equal(text([0xfc]), "ü");
  assert.equal(text([0xff, 0xfe, 0xfc, 0x00]), "ü");
  assert.equal(text([0xfe, 0xff, 0x00, 0xfc]), "ü");
});

/** @param {string} text @returns {unknown[]} the restriction of each link */
const restricted = (text) =>
  readLines(text).map((line) => ("row" in line ? (line.restriction ?? (line.isDated ? "dated" : "")) : line.fault));

test("links that another product restricted are marked", () => {
  const kutt = "address,target,banned,password,expire_in\n";
  assert.deepEqual(restricted(`${kutt}a,https://a.example,t,,\nb,https://a.example,f,$2b$,2020-01-01 00:00:00.5+00`), [
    "banned",
    "expired",
  ]);
  assert.deepEqual(restricted(`${kutt}a,https://a.example,0,NULL,\\N\nb,https://a.example,0,x,`), ["", "password"]);
  assert.deepEqual(restricted(`${kutt}a,https://a.example,0,,2098-01-01\nb,https://a.example,0,,1.1.2999`), [
    "dated",
    "unclear",
  ]);
  const dates = "code,url,validSince,maxVisits,deletedAt,active,status\n";
  assert.deepEqual(
    restricted(
      `${dates}a,u,2999-01-01T00:00:00+01:00,,,,\nb,u,2020-01-01,,,true,active\nc,u,,5,,,\nd,u,,,2020-01-01,,\n` +
        "e,u,,,,0,\nf,u,,,,,Archived\n",
    ),
    ["dated", "", "visit-limit", "deleted", "disabled", "archived"],
  );
});

test("Sink export keeps its codes, and restricted links are marked", () => {
  const links = [
    { slug: "a", url: "https://a.example", expiration: 1_500_000_000 },
    { slug: "b", url: "https://a.example", unsafe: true },
    { slug: "c", url: "https://a.example", password: null },
  ];
  const text = JSON.stringify({ version: "1.0", links }, null, 2);
  assert.deepEqual(restricted(text), ["expired", "banned", ""]);
  assert.deepEqual(short(text)[2], [3, "https://a.example", "c"]);
});

/** @param {string} text @returns {Record<string, unknown>[]} the links, without URL and code */
const more = (text) =>
  readLines(text).map((line) => {
    if (!("row" in line)) return { fault: line.fault };
    return Object.fromEntries(Object.entries(line.row).filter(([field]) => field !== "url" && field !== "code"));
  });

test("dates in the future are the period of the link", () => {
  const dates = "code,url,validSince,validUntil\n";
  assert.deepEqual(
    more(`${dates}a,u,2998-01-01T00:00:00+01:00,2099-01-01\nb,u,2020-01-01,\nc,u,NULL,9999-12-31\nd,u,,2020-01-01`),
    [{ starts_at: "2997-12-31T23:00:00.000Z", ends_at: "2099-01-01T00:00:00.000Z" }, {}, {}, {}],
  );
  assert.deepEqual(more('{"slug":"a","url":"u","expiration":4070908800}'), [{ ends_at: "2099-01-01T00:00:00.000Z" }]);
  assert.deepEqual(more("code,url,expires,ends_at\na,u,2099-02-01,2099-01-01"), [
    { ends_at: "2099-01-01T00:00:00.000Z" },
  ]);
});

test("options of an export of this service are unchanged", () => {
  const link = {
    edge_account_id: "x",
    code: "a",
    url: "https://a.example",
    forward_query: true,
    starts_at: "2020-01-01T00:00:00.000Z",
    ends_at: "2020-02-01T00:00:00.000Z",
    after_url: "https://b.example",
    split: [{ url: "https://c.example", share: 60 }],
    state: "active",
  };
  const { forward_query, starts_at, ends_at, after_url, split } = link;
  const expected = [{ forward_query, after_url, split, starts_at, ends_at }];
  assert.deepEqual(more(JSON.stringify([link])), expected);
  assert.deepEqual(restricted(JSON.stringify([link, { ...link, state: "deleted" }])), ["", "deleted"]);
  const cells = Object.values(link).map((value) =>
    typeof value === "string" ? value : `"${JSON.stringify(value).replaceAll('"', '""')}"`,
  );
  assert.deepEqual(more(`${Object.keys(link).join(",")}\n${cells.join(",")}`), expected);
  const none = { ...link, forward_query: false, starts_at: null, ends_at: null, after_url: null, split: null };
  assert.deepEqual(more(JSON.stringify(none)), [{}]);
  assert.deepEqual(more("code,url,split,forward_query\na,u,[oops,yes"), [{ split: "[oops", forward_query: "yes" }]);
});

test("true and false are read in the forms of spreadsheets and databases", () => {
  const values = ["true", "TRUE", "True", "t", "1", "FALSE", "f", "0", "", "null", "7"];
  const lines = ["code,url,forward_query", ...values.map((value) => `a,u,${value}`)];
  const set = Array.from({ length: 5 }, () => ({ forward_query: true }));
  assert.deepEqual(more(lines.join("\n")), [...set, {}, {}, {}, {}, {}, { forward_query: "7" }]);
});
