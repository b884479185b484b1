import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { list } from "isbot";

import { readAgent } from "../src/agents.js";
import { isExcluded, parseBeacon } from "../src/beacon.js";
import { agentReason, botReason } from "../src/bots.js";
import { hasOptedOut } from "../src/opt_out.js";
import { campaignOf, hasMarker, namedSource, referrerHost, sourceName } from "../src/sources.js";
import { clean } from "../src/text.js";

/**
 * Functions that process text from visitors. Their CPU time must grow at most linearly with the length of the text that
 * the visitor sent.
 */
const READERS = {
  agentReason,
  readAgent,
  referrerHost,
  sourceName,
  campaignOf: (/** @type {string} */ text) => campaignOf(`?utm_campaign=${text}`),
  namedSource,
  hasMarker,
  parseBeacon,
  clean: (/** @type {string} */ text) => clean(text, 1_000_000),
  purpose: (/** @type {string} */ text) => botReason({ method: "GET", purpose: text, driven: false, byAgent: "" }),
  isExcluded: (/** @type {string} */ text) => isExcluded(text, ["/a/", "/b"]),
  hasOptedOut: (/** @type {string} */ text) => hasOptedOut(/** @type {any} */ ({ get: () => text })),
};

/**
 * Returns texts for measurements: the words in all patterns, and text that matches the patterns' character classes. A
 * pattern such as `a.*b` is slow for text with many matches of `a` and none of `b`.
 */
function fragments() {
  const sources = [...list];
  for (const file of ["agents", "bots", "sources", "beacon", "text", "opt_out"]) {
    const text = readFileSync(join(import.meta.dirname, "../src", `${file}.js`), "utf8");
    const literals = text.matchAll(/\/((?:[^/\\\n*]|\\.)(?:[^/\\\n]|\\.)*)\/[a-z]*[\],;.]/g);
    const strings = text.matchAll(/"((?:[^"\\\n]|\\.)+)"/g);
    sources.push(...[...literals, ...strings].map(([, source = ""]) => source));
  }
  const words = sources.flatMap((source) =>
    source
      .replace(/\\[bdswBDSW]/g, " ")
      .replaceAll("\\", "")
      .split(/[^\w ./@;:-]+/),
  );
  const signs = [
    ..." -./@:;()[]|%&?=+_a1",
    "a-",
    "a.",
    "a@",
    "@a",
    "a@a.",
    "1.",
    ".1",
    "(a",
    "; a",
    "a/",
    "/a",
    "?a=",
    "%2",
  ];
  return [...new Set([...words.map((word) => word.trim()), ...signs, " "])].filter((fragment) => fragment !== "");
}

/**
 * @param {(text: string) => unknown} read @param {string} text @returns {number} CPU µs, the minimum of several
 *   measurements
 */
function cpuUs(read, text) {
  let least = Infinity;
  for (let n = 0; n < 3; n += 1) {
    const before = process.cpuUsage();
    read(text);
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, user + system);
  }
  return least;
}

const CHARS = 4_000;

/**
 * Returns the factor by which the CPU time grows if the text is four times as long: 4 for linear growth, 16 for
 * quadratic growth. The result is the minimum of several measurements, because other processes disturb the measurement.
 * @param {(text: string) => unknown} read @param {string} fragment @param {string} start
 */
function growth(read, fragment, start) {
  const text = (/** @type {number} */ chars) => start + fragment.repeat(Math.ceil(chars / fragment.length));
  let least = Infinity;
  for (let tries = 0; tries < 6 && least >= 7; tries += 1) {
    const once = cpuUs(read, text(CHARS));
    // Times below a tenth of a millisecond are too imprecise to compare.
    const fourfold = cpuUs(read, text(4 * CHARS));
    least = Math.min(least, fourfold < 400 ? 0 : fourfold / Math.max(once, 1));
  }
  return least;
}

test("the cost of any text from a visitor is linear in its length", () => {
  const all = fragments();
  assert.ok(all.length > 300, `only ${all.length} fragments of patterns`);
  for (const [name, read] of Object.entries(READERS)) {
    for (const fragment of all) {
      for (const start of ["", "Mozilla/5.0 ("]) {
        const ratio = growth(read, fragment, start);
        assert.ok(
          ratio < 7,
          `${name}: ${start}${fragment}… costs ${ratio.toFixed(1)} times as much at four times the length`,
        );
      }
    }
  }
});
