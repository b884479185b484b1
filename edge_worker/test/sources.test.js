import assert from "node:assert/strict";
import { test } from "node:test";

import { readAddress } from "../src/address.js";
import { isExcluded, parseBeacon } from "../src/beacon.js";
import { campaign, hasMarker, namedSource, referrerHost, sourceKey } from "../src/sources.js";

// rule R3
test("a referrer is kept as its host only, normalised", () => {
  assert.equal(referrerHost("https://www.Google.com:443/search?q=secret#x"), "google.com");
  assert.equal(referrerHost("https://user:pw@news.example.org/a"), "news.example.org");
  assert.equal(referrerHost("android-app://com.slack/"), "com.slack");
  for (const odd of ["", "about:blank", "javascript:alert(1)", "not an address", "http://"]) {
    assert.equal(referrerHost(odd), "");
  }
});

test("a view that followed another one on the same site is internal, one without referrer is direct", () => {
  assert.equal(sourceKey("", "", "shop.example.com"), "");
  assert.equal(sourceKey("https://www.shop.example.com/a", "", "shop.example.com"), "(internal)");
  assert.equal(sourceKey("/before", "newsletter", "shop.example.com"), "(internal)");
  assert.equal(sourceKey("https://blog.example.com/", "", "shop.example.com"), "blog.example.com");
});

test("utm_source and ref name the source, but never a person", () => {
  assert.equal(sourceKey("https://google.com/", "News+Letter", "a.b"), "news letter");
  assert.equal(campaign("https%3A%2F%2Fwww.producthunt.com%2Fposts%2Fx"), "producthunt.com");
  assert.equal(campaign("ada%40example.com"), "");
  assert.equal(campaign("%E0%A4%A"), "%e0%a4%a");
  assert.equal(namedSource("?a=1&utm_source=x%20y&b=2"), "x%20y");
  assert.equal(namedSource("?xref=1"), "");
});

// rule L5
test("the marker of a QR code is the key q alone", () => {
  for (const search of ["?q", "?q=", "?a=1&q", "?q&a=1"]) assert.equal(hasMarker(search), true, search);
  for (const search of ["", "?", "?qq", "?a=q", "?sq=1"]) assert.equal(hasMarker(search), false, search);
});

test("a beacon's page is its path, cleaned and cut", () => {
  assert.deepEqual(parseBeacon("/a?token=1#x\nhttps://b.c/\n&ref=news\ntrue"), {
    page: "/a",
    referrer: "https://b.c/",
    named: "news",
    driven: true,
  });
  assert.equal(parseBeacon(`/${"x".repeat(500)}`)?.page.length, 200);
  assert.equal(parseBeacon("/a\u0000\u001b[31m\ud800b")?.page, "/a[31m\ufffdb");
  for (const odd of ["", "a", "\n/a", "{}", `/${"x".repeat(9_000)}`]) assert.equal(parseBeacon(odd), null);
});

// rule S4
test("an excluded path covers whole segments", () => {
  assert.equal(isExcluded("/admin", ["/admin"]), true);
  assert.equal(isExcluded("/admin/users", ["/admin"]), true);
  assert.equal(isExcluded("/administrator", ["/admin"]), false);
  assert.equal(isExcluded("/admin", ["/admin/"]), false);
  assert.equal(isExcluded("/anything", ["/"]), true);
  assert.equal(isExcluded("/anything", []), false);
});

test("an address is read like the platform's own parser reads it", () => {
  for (const url of [
    "https://go.example.com/abc?q",
    "http://go.example.com:8787/",
    "https://a.b/x/y?z=https://c.d/?e#f",
    "https://a.b/#?q",
    "https://a.b/x:y@z",
    "https://a.b/?x:8080",
  ]) {
    const { hostname, pathname, search } = new URL(url);
    assert.deepEqual(readAddress(url), { hostname, pathname, search });
  }
});
