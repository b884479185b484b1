import assert from "node:assert/strict";
import { test } from "node:test";

import { asHost, asUrl } from "../src/pasted.js";

test("pasted web address gets https", () => {
  /** @type {[string, string][]} */
  const pairs = [
    ["https://shop.example/x", "https://shop.example/x"],
    ["  https://shop.example/x?a=1#b ", "https://shop.example/x?a=1#b"],
    ["shop.example", "https://shop.example"],
    ["shop.example/x", "https://shop.example/x"],
    ["shop.example:8443/x", "https://shop.example:8443/x"],
    ["//shop.example/x", "https://shop.example/x"],
    ["http://shop.example", "https://shop.example"],
    ["HTTP://Shop.Example/A", "https://Shop.Example/A"],
    ["bücher.example/ä", "https://bücher.example/ä"],
  ];
  for (const [pasted, url] of pairs) {
    assert.equal(asUrl(pasted), url, pasted);
  }
});

test("text that is not a web address is left for the service to reject", () => {
  for (const text of [
    "",
    "shop",
    "not a url",
    "mailto:a@b.example",
    "javascript:alert(1.0)",
    "ftp://shop.example/",
    "/x.y",
  ]) {
    assert.equal(asUrl(` ${text} `), text);
  }
  for (const text of ["", "shop", "not a host", "mailto:a@b.example", "user@shop.example", "ftp://shop.example/"]) {
    assert.equal(asHost(` ${text} `), text);
  }
});

test("host is taken out of a pasted address", () => {
  for (const pasted of [
    "www.shop.example",
    " www.shop.example ",
    "www.shop.example/",
    "https://www.shop.example/",
    "http://www.shop.example/sale?a=1#b",
    "https://www.shop.example:8443/",
    "//www.shop.example",
    "www.shop.example?a",
  ]) {
    assert.equal(asHost(pasted), "www.shop.example", pasted);
  }
});
