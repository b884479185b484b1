import assert from "node:assert/strict";
import { test } from "node:test";

import { readLines } from "../src/import-lines.js";
import { codeFault, unacceptedCsv } from "../src/import-report.js";

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
