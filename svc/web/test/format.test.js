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

test("days are UTC days in every time zone and are labelled as such", () => {
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
  assert.equal(format.span(41), "41 seconds");
  assert.equal(format.span(119), "119 seconds");
  assert.equal(format.span(300), "5 minutes");
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
