import assert from "node:assert/strict";
import { test } from "node:test";

import { RESTRICTIONS } from "../src/import-columns.js";
import { readLines } from "../src/import-lines.js";
import { asJsonLines, codeFault, unacceptedCsv } from "../src/import-report.js";

test("codes that the service would reject are found before the import", () => {
  /** @type {[string | null, ReturnType<typeof codeFault>][]} */
  const codes = [
    [null, null],
    ["abc", null],
    ["Spring_sale-26", null],
    ["x".repeat(32), null],
    ["ab", "shortCode"],
    ["x".repeat(33), "longCode"],
    ["a b", "wrongCode"],
    ["grün", "wrongCode"],
    ["a/b", "wrongCode"],
  ];
  for (const [code, fault] of codes) assert.equal(codeFault(code), fault, String(code));
});

test("lines that were not accepted can be corrected and imported again", () => {
  const rules = [{ url: "https://b.example/?a=1,2" }];
  const csv = unacceptedCsv([
    { line: 2, text: "…", row: { url: 'https://a.example/?q="x",y', code: "ab", rules }, reason: "Too short." },
    { line: 7, text: ",nowhere", reason: "The URL is missing." },
  ]);
  assert.equal(csv.split("\r\n")[0], "line,url,code,rules,text,reason");
  assert.match(csv, /\r\n7,,,,",nowhere",The URL is missing\.\r\n$/);
  const [again, missing] = readLines(csv);
  assert.deepEqual(again && "row" in again && again.row, { url: 'https://a.example/?q="x",y', code: "ab", rules });
  assert.equal(missing && "fault" in missing && missing.fault, "noAddress");
});

/** @param {string} text @returns {unknown[]} the link, its restriction and whether it has a date, for each line */
const read = (text) =>
  readLines(text).map((line) => ("row" in line ? [line.row, line.restriction, line.isDated] : line.fault));

test("file of lines that were not accepted keeps all fields and restrictions", () => {
  const split = [
    { url: "https://a.example", share: 60 },
    { url: "https://b.example", share: 40 },
  ];
  const row = { url: "https://a.example", code: "ab" };
  /** @type {Record<string, unknown>[]} */
  const links = [
    { ...row, title: "Spring, summer", note: 'Two\n"lines"', tags: ["a;b", "c"], rules: split.slice(1) },
    { ...row, code: null, forward_query: true, after_url: "https://after.example", split },
    { ...row, split: "[oops", forward_query: "7" },
    { ...row, starts_at: "2098-01-01T00:00:00.000Z", ends_at: "2099-01-01T00:00:00.000Z" },
    { ...row, ends_at: "2099-01-01T00:00:00.000Z", password: "x" },
    { ...row, ends_at: "2020-01-01" },
    { ...row, ends_at: "2099-01-01T00:00:00.000Z", valid_since: "next week" },
  ];
  const lines = readLines(JSON.stringify(links));
  const good = lines.filter((line) => "row" in line);
  assert.equal(good.length, links.length);
  assert.deepEqual(
    good.map(({ restriction }) => restriction ?? ""),
    ["", "", "", "", "password", "expired", "unclear"],
  );
  for (const restriction of RESTRICTIONS) good.push({ line: 9, text: "", row, restriction });
  const expected = good.map((line) => [line.row, line.restriction, line.isDated]);
  assert.deepEqual(read(unacceptedCsv(good.map((line) => ({ ...line, reason: "Too short." })))), expected);
  assert.deepEqual(read(asJsonLines(good)), expected);
});
