import assert from "node:assert/strict";
import { test } from "node:test";

import { languageOf } from "../src/languages.js";

test("the language with the highest weight is selected", () => {
  const cases = {
    "": "en",
    "*": "en",
    "de-AT,de;q=0.9,en;q=0.8": "de",
    "en;q=0.5, fr-CA ; q=0.7": "fr",
    "sv,da;q=0.9,PL;q=0.1": "pl",
    "zh-Hant-TW,ja;q=0.9": "zh",
    "pt-BR": "pt",
    "it;q=0,es;q=0.001": "es",
    "it;q=0": "en",
    "nl,de": "nl", // the weights are equal, so the first language wins
    "de;q=1.5,de;q=abc,;q=1,,": "en", // invalid ranges
    "constructor,__proto__,toString": "en",
    "no-de,de_DE": "en",
  };
  for (const [header, language] of Object.entries(cases)) assert.equal(languageOf(header), language, header);
});

test("only the first 500 characters of the header are read, and no incomplete range", () => {
  assert.equal(languageOf(`fr;q=0.1,${"x".repeat(100_000)},de`), "fr");
  assert.equal(languageOf(`${"sv;q=0.9,".repeat(11_000)}de`), "en");
  // the header is truncated within the range for German, which is then ignored
  assert.equal(languageOf(`${"sv,".repeat(166)}de;q=0.1,fr`), "en");
  assert.equal(languageOf(`${"sv,".repeat(160)}de;q=0.1,${"sv,".repeat(100)}`), "de");
});
