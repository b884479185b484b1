import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";

import { agentOf, deviceOf, readAgent, ruleDevice } from "../src/agents.js";
import { agentReason, botReason } from "../src/bots.js";

const require = createRequire(import.meta.url);
/** @type {{instances?: string[]}[]} a public collection of crawlers' user agents */
const crawlers = require("crawler-user-agents");
/** @type {{parse: (ua: string) => {name: string, os: string, category: string}}} an independent judge */
const woothee = require("woothee");
/** @type {{userAgent: string, deviceCategory: string}[]} user agents of people, from measured traffic */
const people = JSON.parse(
  readFileSync(require.resolve("user-agents").replace(/index\.\w+$/, "user-agents.json"), "utf8"),
);

/** @param {Partial<Parameters<typeof botReason>[0]> & {ua?: string}} request */
const reasonOf = ({ ua = CHROME, method = "GET", purpose = "", driven = false }) =>
  botReason({ method, purpose, driven, byAgent: agentReason(ua) });

const CHROME =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36";

// rule W2
test("at least 99.9% of a public collection of crawlers are caught", () => {
  const all = crawlers.flatMap(({ instances = [] }) => instances);
  const missed = all.filter((ua) => agentReason(ua) === "");
  assert.ok(all.length > 2_000, `only ${all.length} crawlers to judge by`);
  assert.ok(missed.length <= all.length * 0.001, missed.join("\n"));
});

// rule W2
test("at most 0.05% of people's browsers are called bots", () => {
  const called = people.filter(({ userAgent }) => agentReason(userAgent) !== "");
  assert.ok(people.length >= 10_000, `only ${people.length} people to judge by`);
  assert.ok(called.length <= people.length * 0.0005, called.map(({ userAgent }) => userAgent).join("\n"));
});

test("the device is right for at least 97% of people's browsers", () => {
  const wrong = people.filter(({ userAgent, deviceCategory }) => deviceOf(userAgent) !== deviceCategory);
  assert.ok(wrong.length <= people.length * 0.03, `${wrong.length} are wrong`);
});

test("browser and system agree with an independent parser for at least 97%", () => {
  const names = new Map([
    ["Chrome", "Chrome"],
    ["Safari", "Safari"],
    ["Firefox", "Firefox"],
    ["Edge", "Edge"],
    ["Opera", "Opera"],
    ["Internet Explorer", "Internet Explorer"],
    ["Google Search App", "Google app"],
    ["Yandex Browser", "Yandex"],
  ]);
  const systems = new Map([
    ["iPhone", "iOS"],
    ["iPad", "iOS"],
    ["iPod", "iOS"],
    ["Android", "Android"],
    ["Mac OSX", "macOS"],
    ["ChromeOS", "ChromeOS"],
    ["Windows 10", "Windows"],
    ["Windows 7", "Windows"],
    ["Linux", "Linux"],
  ]);
  let judged = 0;
  let right = 0;
  for (const { userAgent } of people) {
    const { name, os } = woothee.parse(userAgent);
    if (!names.has(name) || !systems.has(os)) continue;
    judged += 1;
    const agent = readAgent(userAgent);
    if (agent.browser === names.get(name) && agent.os === systems.get(os)) right += 1;
  }
  assert.ok(judged > people.length * 0.9, `only ${judged} could be judged`);
  assert.ok(right >= judged * 0.97, `${right} of ${judged}`);
});

// rule L5
test("each reason of a bot is named, the plainest first", () => {
  assert.equal(reasonOf({}), "");
  assert.equal(reasonOf({ method: "HEAD", ua: "curl/8.5.0" }), "head");
  assert.equal(reasonOf({ ua: "" }), "empty");
  assert.equal(reasonOf({ purpose: "prefetch;prerender" }), "prefetch");
  assert.equal(reasonOf({ driven: true }), "webdriver");
  assert.equal(reasonOf({ ua: CHROME.replace("Chrome/", "HeadlessChrome/") }), "headless");
  assert.equal(
    reasonOf({ ua: "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)" }),
    "preview",
  );
  assert.equal(reasonOf({ ua: "curl/8.5.0" }), "list");
  assert.equal(reasonOf({ ua: "python-requests/2.32" }), "list");
});

test("a rule's mobile is a phone or a tablet, its desktop is everything else", () => {
  const iphone =
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1";
  const tablet =
    "Mozilla/5.0 (Linux; Android 14; SM-X710) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36";
  assert.equal(ruleDevice(iphone), "mobile");
  assert.equal(ruleDevice(tablet), "mobile");
  assert.equal(ruleDevice(CHROME), "desktop");
  assert.equal(ruleDevice("curl/8.5.0"), "desktop");
  assert.deepEqual(readAgent(iphone), { device: "mobile", browser: "Safari", os: "iOS" });
});

test("no user agent takes long, however it is made", () => {
  const evil = [
    "(".repeat(9_000),
    `Mozilla/5.0 ${"Android ".repeat(2_000)}`,
    "a@".repeat(8_000),
    "www.".repeat(5_000),
    "-".repeat(16_000),
  ];
  for (const ua of evil) {
    const before = performance.now();
    agentOf(ua);
    assert.ok(performance.now() - before < 20, `${ua.slice(0, 20)} took ${performance.now() - before} ms`);
  }
});
