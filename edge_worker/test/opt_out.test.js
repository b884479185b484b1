import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import { STYLE } from "../src/html_page.js";
import { LANGUAGES } from "../src/languages.js";
import { OPT_OUT_PATH, answerOptOut, hasOptedOut } from "../src/opt_out.js";
import { TEXTS, pageIn } from "../src/opt_out_page.js";
import { hasPathForm } from "../src/sites.js";
import vocabulary from "../src/vocabulary.json" with { type: "json" };

const PATH = "/ab3x/x9kq";
const PAGE = `https://shop.example${PATH}/off`;

/** @param {string} cookie */
const isOff = (cookie) => hasOptedOut(new Headers({ cookie }));

/**
 * @param {string} search @param {Record<string, string>} headers @param {string} [url]
 * @returns {Response}
 */
const post = (search, headers, url = PAGE) =>
  answerOptOut(new Request(url + search, { method: "POST", headers }), search, PATH);

// rule Y9
test("only the cookie with the value 1 turns counting off", () => {
  const off = "__Secure-uncounted=1";
  for (const cookie of [
    off,
    `a=b; ${off}`,
    `${off}; a=b`,
    `a=b;${off};c=d`,
    `;; ; ${off} ;`,
    `__Secure-uncounted=0; ${off}`, // the first cookie belongs to another path or domain
    `${"a=b; ".repeat(5_000)}${off}`,
  ]) {
    assert.ok(isOff(cookie), cookie.slice(-60));
  }
  for (const cookie of [
    "",
    "1",
    "__Secure-uncounted",
    "__Secure-uncounted=",
    "__Secure-uncounted=0",
    "__Secure-uncounted=11",
    "__Secure-uncounted=1x",
    '__Secure-uncounted="1"',
    "__Secure-uncounted=%31",
    "__Secure-uncounted==1",
    "__Secure-uncounted =1",
    "__secure-uncounted=1",
    "__Secure-uncountedx=1",
    "x__Secure-uncounted=1",
    "a=__Secure-uncounted=1",
    "a=b __Secure-uncounted=1",
    "uncounted=1",
    "a=b; ".repeat(5_000),
  ]) {
    assert.ok(!isOff(cookie), cookie.slice(-60));
  }
  assert.ok(!hasOptedOut(new Headers()));
});

// rule Y9
test("the page of the same origin sets and deletes the cookie", () => {
  const origin = "https://shop.example";
  const cookies = {
    "?off": `__Secure-uncounted=1; Path=${PATH}; HttpOnly; Secure; SameSite=Lax; Max-Age=34560000`,
    "?on": `__Secure-uncounted=; Path=${PATH}; HttpOnly; Secure; SameSite=Lax; Max-Age=0`,
  };
  for (const [search, cookie] of Object.entries(cookies)) {
    // Some browsers released before 2023 do not send Sec-Fetch-Site.
    /** @type {Record<string, string>[]} */
    const senders = [{ origin }, { origin, "sec-fetch-site": "same-origin" }];
    for (const headers of senders) {
      const response = post(search, headers);
      assert.deepEqual(Object.fromEntries(response.headers), {
        "cache-control": "no-store",
        location: `${PATH}/off`,
        "set-cookie": cookie,
      });
      assert.equal(response.status, 303);
    }
  }
  const port = post("?off", { origin: "https://shop.example:8443" }, `https://shop.example:8443${PATH}/off`);
  assert.equal(port.status, 303);
});

// rule Y9
test("a POST from anywhere else changes nothing", () => {
  const origin = "https://shop.example";
  /** @type {Record<string, string>[]} */
  const others = [
    {},
    { origin: "" },
    { origin: "null" }, // a sandboxed frame
    { origin: "https:" },
    { origin: "https://" },
    { origin: "https://shop" },
    { origin: "https://shop.example/" },
    { origin: "https://shop.example." },
    { origin: "https://shop.example:8443" },
    { origin: "http://shop.example" },
    { origin: "https://www.shop.example" },
    { origin: "https://example" },
    { origin: "https://evil.example" },
    { origin: "https://evil.example/https://shop.example" },
    { origin: "https://shop.example, https://evil.example" },
    { origin: "https://evil.example", "sec-fetch-site": "cross-site", "content-type": "text/plain" },
    { origin: "https://evil.example", "sec-fetch-site": "same-origin" },
    ...["cross-site", "same-site", "none", "", "SAME-ORIGIN"].map((site) => ({ origin, "sec-fetch-site": site })),
    { referer: PAGE },
  ];
  for (const headers of others) {
    const response = post("?off", headers);
    assert.deepEqual([response.status, response.headers.get("set-cookie")], [403, null], JSON.stringify(headers));
  }
  for (const search of ["", "?", "?OFF", "?off=1", "?off&on", "?x&off", "?toggle"]) {
    const response = post(search, { origin });
    assert.deepEqual([response.status, response.headers.get("set-cookie")], [400, null], search);
  }
});

test("each page is below 2 kB, offers the other state, and contains no script, no link and no other resource", () => {
  assert.deepEqual(Object.keys(TEXTS), LANGUAGES);
  for (const language of LANGUAGES) {
    for (const off of [false, true]) {
      const page = pageIn(language, off);
      assert.ok(Buffer.byteLength(page) < 2_000, `${language}: ${Buffer.byteLength(page)} bytes`);
      assert.match(page, new RegExp(`^<!doctype html><html lang="${language}">`));
      assert.ok(page.includes(`<form method="post" action="${off ? "?on" : "?off"}">`));
      assert.doesNotMatch(page, /<script|<a\b|<img|<link|<iframe|https?:|svc/i);
    }
    assert.equal(new Set(Object.values(TEXTS[language])).size, 6, `${language}: two texts are the same`);
  }
});

test("the policy allows exactly the page's style and its form, and no frame", () => {
  const hash = createHash("sha256").update(STYLE).digest("base64");
  assert.equal(
    vocabulary.opt_out_policy,
    `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
  );
});

test("the page is below every path of a site, and has the name of none of its scripts", () => {
  for (const path of ["/abcdefgh", "/abcd/efgh"]) assert.ok(hasPathForm(path + OPT_OUT_PATH));
  for (const path of ["/abcd/off", "/off", "/abcdefgh/off/", "/abcdefgh/offx", "/abcdefgh/off.js/off"]) {
    assert.ok(!hasPathForm(path), path);
  }
  assert.ok(!OPT_OUT_PATH.endsWith(".js"));
});
