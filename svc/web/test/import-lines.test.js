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
  readLines(text).map((line) => ("row" in line ? (line.restriction ?? (line.expires ? "expires" : "")) : line.fault));

test("links that another product restricted are marked", () => {
  const kutt = "address,target,banned,password,expire_in\n";
  assert.deepEqual(restricted(`${kutt}a,https://a.example,t,,\nb,https://a.example,f,$2b$,2020-01-01 00:00:00.5+00`), [
    "banned",
    "expired",
  ]);
  assert.deepEqual(restricted(`${kutt}a,https://a.example,0,NULL,\\N\nb,https://a.example,0,x,`), ["", "password"]);
  assert.deepEqual(restricted(`${kutt}a,https://a.example,0,,2999-01-01\nb,https://a.example,0,,1.1.2999`), [
    "expires",
    "unclear",
  ]);
  const dates = "code,url,validSince,maxVisits,deletedAt,active,status\n";
  assert.deepEqual(
    restricted(
      `${dates}a,u,2999-01-01T00:00:00+01:00,,,,\nb,u,2020-01-01,,,true,active\nc,u,,5,,,\nd,u,,,2020-01-01,,\n` +
        "e,u,,,,0,\nf,u,,,,,Archived\n",
    ),
    ["scheduled", "", "visit-limit", "deleted", "disabled", "archived"],
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
