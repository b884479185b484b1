import assert from "node:assert/strict";
import { test } from "node:test";

import { inBrowser, speak } from "./browser.js";

inBrowser();
const format = await import("../src/format.js");
const { language } = await import("../src/settings.js");

/** @param {string} text with non-breaking spaces @returns {string} with plain spaces */
const plain = (text) => text.replace(/[\u00a0\u202f]/g, " ");

test("invalid locale tag is skipped", () => {
  speak(["en-US@posix", "en-GB"]);
  assert.equal(format.locale(), "en-GB");
  speak(["en-US@posix"]);
  assert.equal(format.locale(), "en");
  assert.equal(format.country("DE", { unknown: "?" }), "Germany");
});

test("numbers follow the language of the texts", () => {
  speak(["ja", "ar"]);
  assert.equal(format.number(12345.5), "12,345.5");
  speak(["de-DE", "en"]);
  assert.equal(format.number(12345.5), "12.345,5");
  assert.equal(plain(format.percent(0.125)), "13 %");
  language.value = "en";
  assert.equal(format.percent(0.125), "13%");
  language.value = "browser";
});

test("formats of a report are created before they are used", () => {
  speak(["en-NZ"]);
  format.createFormats();
  const created = /** @type {string[]} */ ([]);
  const { NumberFormat, DateTimeFormat, RelativeTimeFormat } = Intl;
  for (const Kind of [NumberFormat, DateTimeFormat, RelativeTimeFormat]) {
    const construct = (/** @type {any} */ Made, /** @type {any[]} */ taken) => {
      created.push(Made.name);
      return Reflect.construct(Made, taken);
    };
    Object.assign(Intl, { [Kind.name]: new Proxy(Kind, { construct }) });
  }
  const now = new Date().toISOString();
  const shown = [format.number(7), format.short(7), format.percent(0.7), format.day(now), format.weekday(now)];
  shown.push(format.days(now.slice(0, 10), now.slice(0, 10)), format.ago(now), format.localMidnight());
  Object.assign(Intl, { NumberFormat, DateTimeFormat, RelativeTimeFormat });
  assert.equal(shown.length, 8);
  assert.deepEqual(created, []);
});

test("days are UTC days in every time zone and are labeled as such", () => {
  speak(["en-US"]);
  assert.equal(format.day("2026-11-21"), "Nov 21");
  assert.equal(format.longDay("2026-11-21"), "Sat, Nov 21, 2026 UTC");
  assert.equal(format.hour("2026-11-21T00:00:00Z"), "00:00");
});

const spaced = (/** @type {string} */ text) => text.replaceAll(/\s/g, " ");

test("a period is written out, with the month only once if possible", () => {
  speak(["en-US"]);
  assert.equal(spaced(format.days("2026-11-18", "2026-11-24")), "Nov 18 – 24");
  assert.equal(spaced(format.days("2026-10-26", "2026-11-24")), "Oct 26 – Nov 24");
  assert.equal(spaced(format.days("2026-11-24", "2026-11-24")), "Nov 24");
  assert.equal(format.weekday("2026-11-21"), "21 Sat");
});

test("durations use the largest suitable unit", () => {
  speak(["en-US"]);
  const now_ms = Date.parse("2026-11-21T12:00:00Z");
  assert.equal(format.ago("2026-11-21T11:43:00Z", now_ms), "17 minutes ago");
  assert.equal(format.ago("2026-12-05T12:00:00Z", now_ms), "in 14 days");
  assert.equal(format.ago("2026-11-21T12:00:00Z", now_ms), "now");
  assert.equal(format.ago("2026-11-20T11:00:00Z", now_ms), "1 day ago");
  assert.equal(format.ago("2026-11-23T11:00:00Z", now_ms), "in 1 day");
  assert.equal(format.span(41), "41 seconds");
  assert.equal(format.span(119), "119 seconds");
  assert.equal(format.span(300), "5 minutes");
});

test("days are relative to the current UTC day", () => {
  speak(["en-US"]);
  const now_ms = Date.parse("2026-11-21T23:59:00Z");
  assert.equal(format.daysAgo("2026-11-21", now_ms), "today");
  assert.equal(format.daysAgo("2026-11-20", now_ms), "yesterday");
  assert.equal(format.daysAgo("2026-11-01", now_ms), "20 days ago");
  assert.equal(format.daysAgo("2026-11-20", now_ms + 60_000), "2 days ago");
});

test("the clock follows the browser's region, not the language of the texts", () => {
  const at = "2026-11-21T13:31:00Z";
  language.value = "en";
  speak(["de-DE", "en-US"]);
  assert.match(spaced(format.moment(at)), /^Nov 21, 2026, \d\d:31 /);
  assert.match(format.localHour(at), /^\d\d:31 /);
  speak(["en-US", "de-DE"]);
  assert.match(spaced(format.moment(at)), /^Nov 21, 2026, \d{1,2}:31 [AP]M /);
  speak(["en-GB"]);
  assert.match(spaced(format.moment(at)), /^21 Nov 2026, \d\d:31 /);
  language.value = "de";
  speak(["en-US"]);
  assert.match(format.localHour(at), /[AP]M/);
  speak(["de-AT@posix", "de-AT"]);
  assert.doesNotMatch(format.localHour(at), /[AP]M/);
  language.value = "browser";
});

test("midnight UTC is shown in the reader's time zone", () => {
  speak(["en-US"]);
  const zone = process.env.TZ;
  process.env.TZ = "Asia/Kolkata";
  assert.equal(spaced(format.localMidnight()), "5:30 AM");
  process.env.TZ = "UTC";
  assert.equal(format.localMidnight(), "");
  process.env.TZ = zone ?? "";
});

test("counts have the plural form of the language", () => {
  speak(["en-US"]);
  const forms = { one: "# link", other: "# links" };
  assert.deepEqual(
    [0, 1, 2, 1_234].map((count) => format.plural(count, forms)),
    ["0 links", "1 link", "2 links", "1,234 links"],
  );
});

test("sizes have at most one decimal", () => {
  speak(["en-US"]);
  assert.equal(plain(format.bytes(0)), "0 byte");
  assert.equal(plain(format.bytes(1_234)), "1 kB");
  assert.equal(plain(format.bytes(1_250_000)), "1.3 MB");
});

test("countries and special codes have names", () => {
  speak(["en-US"]);
  const names = ["DE", "XX", "T1", "(other)", "ZZ"].map((code) => format.country(code, { unknown: "Unknown" }));
  assert.deepEqual(names.slice(0, 4), ["Germany", "Unknown", "Tor", "(other)"]);
  speak(["de"]);
  assert.equal(format.country("DE", { unknown: "Unbekannt" }), "Deutschland");
});
