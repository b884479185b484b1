import assert from "node:assert/strict";
import { test } from "node:test";

import { UTM, utmOf, withUtm } from "../src/utm.js";

test("UTM parameters are read from a URL", () => {
  const url = "https://shop.example/a?x=1&utm_source=spring+sale&UTM_Medium=e%2Dmail&utm_term#utm_content=no";
  assert.deepEqual(
    UTM.map((name) => utmOf(url, name)),
    ["spring sale", "e-mail", "", "", ""],
  );
  assert.equal(utmOf("https://shop.example/?utm_source=100%", "source"), "100%");
  assert.equal(utmOf("", "source"), "");
});

test("UTM parameters are written without changing the rest of the URL", () => {
  /** @type {[string, import("../src/utm.js").Utm, string, string][]} */
  const cases = [
    ["https://shop.example", "source", "news", "https://shop.example?utm_source=news"],
    ["https://shop.example/#top", "source", "a b", "https://shop.example/?utm_source=a%20b#top"],
    [
      "https://shop.example/?x=1&y=%2F+&x=2#top",
      "term",
      "ä&",
      "https://shop.example/?x=1&y=%2F+&x=2&utm_term=%C3%A4%26#top",
    ],
    ["https://shop.example/?a&utm_source=x&b", "source", "y", "https://shop.example/?a&utm_source=y&b"],
    ["https://shop.example/?utm_source=x&a&utm_source=z", "source", "", "https://shop.example/?a"],
    ["https://shop.example/?utm_source=x#a?b", "source", "", "https://shop.example/#a?b"],
  ];
  for (const [url, name, value, expected] of cases) assert.equal(withUtm(url, name, value), expected);
});

test("a written value is read again as typed", () => {
  for (const typed of ["news ", "a&b=c#d", "100%", "grün+blau", "?"]) {
    assert.equal(utmOf(withUtm("https://shop.example/?q=1#f", "campaign", typed), "campaign"), typed);
  }
});
