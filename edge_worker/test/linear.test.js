import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { list } from "isbot";

import { readAgent } from "../src/agents.js";
import { isExcluded, parseBeacon } from "../src/beacon.js";
import { agentReason, botReason } from "../src/bots.js";
import { campaign, hasMarker, namedSource, referrerHost } from "../src/sources.js";
import { clean } from "../src/text.js";

/** What is made of the texts that a visitor sends; each must cost no more than their length, before they are cut. */
const READERS = {
  agentReason,
  readAgent,
  referrerHost,
  campaign,
  namedSource,
  hasMarker,
  parseBeacon,
  clean: (/** @type {string} */ text) => clean(text, 1_000_000),
  purpose: (/** @type {string} */ text) => botReason({ method: "GET", purpose: text, driven: false, byAgent: "" }),
  isExcluded: (/** @type {string} */ text) => isExcluded(text, ["/a/", "/b"]),
};

/**
 * The words of all patterns, and what their classes of characters match: a pattern that looks for one thing behind
 * another (`a.*b`) is slow where `a` comes again and again and `b` does not.
 */
function pieces() {
  const sources = [...list];
  for (const file of ["agents", "bots", "sources", "beacon", "text"]) {
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
  return [...new Set([...words.map((word) => word.trim()), ...signs, " "])].filter((piece) => piece !== "");
}

/** @param {(text: string) => unknown} read @param {string} text @returns {number} µs of CPU, the least of some tries */
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
 * How much dearer four times the length is: 4 where the cost is the length, 16 where it is the square. The least of
 * some tries, because whatever else the machine does makes one of the two look dearer.
 * @param {(text: string) => unknown} read @param {string} piece @param {string} start
 */
function growth(read, piece, start) {
  const text = (/** @type {number} */ chars) => start + piece.repeat(Math.ceil(chars / piece.length));
  let least = Infinity;
  for (let tries = 0; tries < 6 && least >= 7; tries += 1) {
    const once = cpuUs(read, text(CHARS));
    // Under a tenth of a millisecond there is nothing to compare.
    const fourfold = cpuUs(read, text(4 * CHARS));
    least = Math.min(least, fourfold < 400 ? 0 : fourfold / Math.max(once, 1));
  }
  return least;
}

test("nothing that a visitor sends costs more than its length, however it is made", () => {
  const all = pieces();
  assert.ok(all.length > 300, `only ${all.length} pieces of patterns`);
  for (const [name, read] of Object.entries(READERS)) {
    for (const piece of all) {
      for (const start of ["", "Mozilla/5.0 ("]) {
        const ratio = growth(read, piece, start);
        assert.ok(
          ratio < 7,
          `${name}: ${start}${piece}… costs ${ratio.toFixed(1)} times as much at four times the length`,
        );
      }
    }
  }
});
