import assert from "node:assert/strict";
import { test } from "node:test";

import { readAddress } from "../src/address.js";
import { PAGE_CHARS, isExcluded, parseBeacon, readBody } from "../src/beacon.js";
import { closeLine, encodeEvent } from "../src/event_log.js";
import { servedKey } from "../src/links.js";
import {
  campaignOf,
  clickSource,
  hasMarker,
  namedSource,
  referrerHost,
  sourceKey,
  sourceName,
} from "../src/sources.js";

// rule R3
test("only the normalized host of a referrer is kept", () => {
  assert.equal(referrerHost("https://www.Google.com:443/search?q=secret#x"), "google.com");
  assert.equal(referrerHost("https://user:pw@news.example.org/a"), "news.example.org");
  assert.equal(referrerHost("android-app://com.slack/"), "com.slack");
  assert.equal(referrerHost("http://[2001:DB8::1]:8080/x"), "[2001:db8::1]");
  assert.equal(referrerHost("https://xn--bcher-kva.example/"), "xn--bcher-kva.example");
  const odds = ["", "about:blank", "javascript:alert(1)", "not an address", "http://", "https://bücher.example/"];
  for (const odd of [...odds, "http://[2001:db8::1", "https://a b/", `https://${"a".repeat(500)}`]) {
    assert.equal(referrerHost(odd), "");
  }
});

test("a view after another one on the same site is internal, and one without a referrer is direct", () => {
  assert.equal(sourceKey("", "", "shop.example.com"), "");
  assert.equal(sourceKey("https://www.shop.example.com/a", "", "shop.example.com"), "(internal)");
  assert.equal(sourceKey("/before", "newsletter", "shop.example.com"), "(internal)");
  assert.equal(sourceKey("https://blog.example.com/", "", "shop.example.com"), "blog.example.com");
});

test("utm_source and ref name the source, but never a person", () => {
  assert.equal(sourceKey("https://google.com/", "News+Letter", "a.b"), "news letter");
  assert.equal(sourceName("https%3A%2F%2Fwww.producthunt.com%2Fposts%2Fx"), "producthunt.com");
  assert.equal(sourceName("ada%40example.com"), "");
  assert.equal(sourceName("%E0%A4%A"), "%e0%a4%a");
  assert.equal(namedSource("?a=1&utm_source=x%20y&b=2"), "x%20y");
  assert.equal(namedSource("?xref=1"), "");
  assert.equal(sourceName("x".repeat(5_000)).length, 100);
});

test("an email address is never stored, whatever its encoding", () => {
  // `%FC` is Latin-1, and `50%-` has no percent-encoding. Neither value can be decoded.
  for (const value of ["ada@b.example", "ada%40b.example", "ada%2540b.example", "ada%252540b.example"]) {
    for (const start of ["", "m%FCller-", "50%-", "www.", "https%3A%2F%2Fshop.example%2F%3Femail%3D"]) {
      assert.equal(sourceName(start + value), "", start + value);
      assert.equal(campaignOf(`?utm_campaign=${start}${value}`), "", start + value);
    }
  }
  assert.equal(campaignOf("?utm_campaign=m%FCnchen"), "m%fcnchen");
  assert.equal(campaignOf("?utm_campaign=save%2025%2C40%20euros"), "save 25,40 euros");
});

test("utm_campaign names the campaign, within the limits of a source", () => {
  assert.equal(campaignOf(""), "");
  assert.equal(campaignOf("?utm_source=a&utm_campaign=Spring+Sale%21&x=1"), "spring sale!");
  assert.equal(campaignOf("?utm_campaign=&utm_source=a"), "");
  assert.equal(campaignOf("?utm_campaign_id=7&xutm_campaign=8"), "");
  assert.equal(campaignOf("?utm_campaign=ada%40example.com"), "");
  assert.equal(campaignOf("?utm_campaign=%E0%A4%A"), "%e0%a4%a");
  assert.equal(campaignOf("?utm_campaign=a%00%0Ab%7F%C2%85c%E2%80%A8d"), "abcd");
  assert.equal(campaignOf(`?utm_campaign=${"x".repeat(5_000)}`).length, 100);
  assert.equal(campaignOf(`?utm_campaign=${"%C3%A9".repeat(100)}`), "é".repeat(50));
  // A campaign is a name and not a source, so a name with the form of a URL is not reduced to its host.
  assert.equal(campaignOf("?utm_campaign=https%3A%2F%2Fwww.a.example%2Fx"), "https://www.a.example/x");
});

test("the parameters of a beacon are those of the page's address, whatever their values contain", () => {
  const sent = (/** @type {string} */ address) =>
    parseBeacon(`/a\n\n${address.match(/[?&](utm_(ca|s)\w+|ref)=[^&#]*/g)}\nfalse`)?.search ?? "";
  for (const [address, source, name] of [
    ["https://a.b/?utm_source=x&utm_campaign=y", "x", "y"],
    ["https://a.b/?utm_campaign=y&utm_source=x", "x", "y"],
    ["https://a.b/?ref=r&utm_source=x", "r", ""],
    ["https://a.b/?utm_source=x,&utm_campaign=y,", "x,", "y,"],
    ["https://a.b/?utm_source=a,b&utm_campaign=,&utm_source_platform=p", "a,b", ","],
    ["https://a.b/?utm_source=x&next=/c?ref=z&utm_campaign=y", "x", "y"],
    ["https://a.b/?utm_source=&ref=z", "", ""],
    ["https://a.b/?a=1#/b?ref=z&utm_campaign=y", "z", "y"],
  ]) {
    const search = sent(String(address));
    assert.deepEqual([namedSource(search), campaignOf(search)], [source, name], address);
  }
  // An older snippet sends one parameter, or nothing.
  assert.equal(namedSource(parseBeacon("/a\n\n?utm_source=x,y\nfalse")?.search ?? ""), "x,y");
  assert.equal(parseBeacon("/a\n\n\n")?.search, "");
});

test("the key of a long target URL keeps its start and its end", () => {
  assert.equal(servedKey("https://a.example/"), "https://a.example/");
  const long = (/** @type {string} */ end) => `https://a.example/${"x".repeat(2_000)}?utm_campaign=${end}`;
  const [one, other] = [servedKey(long("de")), servedKey(long("fr"))];
  assert.deepEqual([one.length, other.length], [200, 200]);
  assert.match(one, /^https:\/\/a\.example\/x+\.\.\.x+\?utm_campaign=de$/);
  assert.notEqual(one, other);
});

// rule L5
test("the marker of a QR code is the key q without a value", () => {
  for (const search of ["?q", "?q=", "?a=1&q", "?q&a=1", "?q=&a=1"]) assert.equal(hasMarker(search), true, search);
  for (const search of ["", "?", "?qq", "?a=q", "?sq=1", "?q=shoes", "?q==", "?q=q&a"]) {
    assert.equal(hasMarker(search), false, search);
  }
});

// rule L5
test("only the marker makes a click a scan", () => {
  const host = "go.example.com";
  assert.equal(clickSource("https://news.example/", "?q&utm_source=x", host), "qr");
  for (const search of ["?utm_source=qr", "?ref=QR", "?utm_source=+qr+", "?utm_source=www.qr", "?ref=https://qr/"]) {
    assert.equal(clickSource("", search, host), "", search);
    assert.equal(clickSource("https://news.example/", search, host), "news.example", search);
  }
  assert.equal(clickSource("https://qr/", "", host), "");
  assert.equal(clickSource("https://qr/", "?utm_source=qr", host), "");
  assert.equal(clickSource("https://qr/", "?utm_source=spring", host), "spring");
});

test("a beacon's path has no query and no fragment", () => {
  assert.deepEqual(parseBeacon("/a?token=1#x\nhttps://b.c/\n&ref=news\ntrue"), {
    path: "/a",
    referrer: "https://b.c/",
    search: "&ref=news",
    driven: true,
  });
  assert.equal(parseBeacon(`/${"x".repeat(500)}`)?.path.length, 501);
  for (const odd of ["", "a", "\n/a", "{}"]) assert.equal(parseBeacon(odd), null);
});

test("a beacon's path must be a valid pathname of a browser", () => {
  for (const path of ["/", "//", "/~a/b-c_d.html;v=1", "/%E6%97%A5%E6%9C%AC", "/a'(b)*!$&+,:=@|[x]^{y}`"]) {
    const { pathname } = new URL(`https://a.example${path}`);
    assert.equal(parseBeacon(`${pathname}\n`)?.path, pathname);
  }
  for (const odd of ["/日本", "/a b", '/a"b', "/a\\b", "/a\u0000", "/a\u001b[31m", "/\ud800", "/a\tb", "/é"]) {
    assert.equal(parseBeacon(`${odd}\nhttps://b.c/`), null, odd);
  }
});

test("the line of an event has a maximum length for any input", () => {
  const letters = ["日", "\u{1f642}", '"', "\\", "x", "%", "&", "\ud800", "é"];
  for (const letter of letters) {
    const many = letter.repeat(8_000);
    for (const named of [many, encodeURIComponent(letter.toWellFormed()).repeat(900)]) {
      const source = sourceKey(`https://${many}/`, named, "shop.example.com");
      const page = (parseBeacon(`/${"x".repeat(8_000)}`)?.path ?? "").slice(0, PAGE_CHARS);
      const event = { target: `site_${"a".repeat(20)}`, hour: 500_000, reason: /** @type {""} */ (""), page, source };
      const client = { country: "DE", device: "desktop", browser: "Internet Explorer", os: "Windows Phone" };
      const campaign = campaignOf(`?utm_campaign=${named}`);
      // An event of a site has a page, and an event of a link has a target URL. No event has both.
      for (const [shown, served] of [
        [page, ""],
        ["", servedKey(`https://${"x".repeat(2_000)}`)],
      ]) {
        const whole = { ...event, ...client, campaign, page: String(shown), served: String(served) };
        const line = closeLine(encodeEvent(whole, true), "AAAAAAAA");
        assert.ok(line.length <= 1_000, `${letter}: ${line.length} characters`);
      }
    }
  }
});

/** A body that counts the bytes read from it. */
class Endless {
  taken = 0;
  cancelled = false;
  stream = new ReadableStream({
    pull: (controller) => {
      this.taken += 1_000;
      controller.enqueue(new TextEncoder().encode("x".repeat(1_000)));
    },
    cancel: () => {
      this.cancelled = true;
    },
  });
}

test("a body is read up to the limit, with or without Content-Length", async () => {
  const post = (/** @type {RequestInit & {duplex?: "half"}} */ init) =>
    new Request("https://a.example/", { method: "POST", ...init });
  assert.equal(
    await readBody(post({ body: "/a\nhttps://b.c/", headers: { "content-length": "16" } })),
    "/a\nhttps://b.c/",
  );
  assert.equal(readBody(post({ body: "x".repeat(9_000), headers: { "content-length": "9000" } })), null);
  assert.equal(await readBody(post({})), "");
  const chunks = new ReadableStream({
    start: (controller) => {
      for (const part of ["/a", "%C3\nhttps", "://b.c/"]) controller.enqueue(new TextEncoder().encode(part));
      controller.close();
    },
  });
  assert.equal(await readBody(post({ body: chunks, duplex: "half" })), "/a%C3\nhttps://b.c/");
  const endless = new Endless();
  assert.equal(await readBody(post({ body: endless.stream, duplex: "half" })), "");
  assert.ok(endless.cancelled);
  assert.ok(endless.taken <= 20_000, `${endless.taken} bytes`);
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

test("a URL is split in the same way as by the platform's own parser", () => {
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
