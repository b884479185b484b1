import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";

import { deviceOf, readAgent, ruleDevice } from "../src/agents.js";
import { agentReason, botReason } from "../src/bots.js";

const require = createRequire(import.meta.url);
/** @type {{instances?: string[]}[]} a public collection of crawler user agents */
const crawlers = require("crawler-user-agents");
/** @type {{parse: (ua: string) => {name: string, os: string, category: string}}} an independent parser */
const woothee = require("woothee");
/** @type {{userAgent: string, deviceCategory: string}[]} user agents of people, sampled from real traffic */
const people = JSON.parse(
  readFileSync(require.resolve("user-agents").replace(/index\.\w+$/, "user-agents.json"), "utf8"),
);

/** @param {Partial<Parameters<typeof botReason>[0]> & {ua?: string}} request */
const reasonOf = ({ ua = CHROME, method = "GET", purpose = "", driven = false }) =>
  botReason({ method, purpose, driven, byAgent: agentReason(ua) });

const CHROME =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36";

// rule W2
test("at least 99.9% of a public collection of crawlers are detected", () => {
  const all = crawlers.flatMap(({ instances = [] }) => instances);
  const missed = all.filter((ua) => agentReason(ua) === "");
  assert.ok(all.length > 2_000, `only ${all.length} crawlers to judge by`);
  assert.ok(missed.length <= all.length * 0.001, missed.join("\n"));
});

// rule W2
test("at most 0.05% of people's browsers are classified as bots", () => {
  const called = people.filter(({ userAgent }) => agentReason(userAgent) !== "");
  assert.ok(people.length >= 10_000, `only ${people.length} people to judge by`);
  assert.ok(called.length <= people.length * 0.0005, called.map(({ userAgent }) => userAgent).join("\n"));
});

test("the device is correct for at least 97% of people's browsers", () => {
  const wrong = people.filter(({ userAgent, deviceCategory }) => deviceOf(userAgent) !== deviceCategory);
  assert.ok(wrong.length <= people.length * 0.03, `${wrong.length} are incorrect`);
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
test("the reason of a bot is the first that applies", () => {
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

/** @param {string} model @param {string} rest */
const android = (model, rest) =>
  `Mozilla/5.0 (Linux; Android 14; ${model}) AppleWebKit/537.36 (KHTML, like Gecko) ${rest} Safari/537.36`;
/** @param {string} rest */
const iphone = (rest) =>
  `Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) ${rest}`;
const MAC = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko)";

// rule W2
test("a bot keyword in the name of a device or app does not make its user a bot", () => {
  const phone = "Chrome/140.0.0.0 Mobile";
  const models = [
    "Discovery SE",
    "DISCOVERY_2_ME",
    "CUBOT P50",
    "S222 Build/CUBOT",
    "M bot 60",
    "Newsday_E1",
    "Spider 8",
  ];
  const more = ["Capture+", "AURII Virtuoso Build/MRA58K; wv", "CG|EON", "OK Google TV Build/RTM7.230903.015; wv"];
  const people = [
    ...[...models, ...more].map((model) => android(model, phone)),
    android("V2241A; wv", `Version/4.0 ${phone} AliApp(TB/10.9.0) @taobao_android_10.9.0`),
    android("SM-A125F", `Version/4.0 ${phone} @lazada_android_7.30.0`),
    android("Pixel 9; wv", `Version/4.0 ${phone} GoogleLens/1.0`),
    android("LGE-AN10; wv", `Version/4.0 ${phone} MicroMessenger/8.0.21 Process/toolsmp`),
    android("vivo; wv", `Version/4.0 ${phone} SogouMSE,SogouMobileBrowser/6.1.54`),
    iphone("Mobile/15E148 AppleNews/900"),
    iphone("News/582.1 Version/2.0"),
    iphone("Mobile/15E148 WallaNews/9.8.2"),
    iphone("Mobile/15E148 SohuNews/6.7.8"),
    iphone("Mobile/15E148 SmartNews/24.1"),
    iphone("Mobile/15E148 Mastodon/2024.6"),
    iphone("Mobile/22A3354 AlipayDefined(nt:WIFI,ws:393|0|2.75) AliApp(AP/10.2.0)"),
    iphone("Mobile/15E148 google_ios/com.google.Maps/24.1"),
    `${android("Pixel 9; wv", "Version/4.0 Chrome/140.0.0.0 Mobile")} Townnews-Now/4.0`,
    `${android("Pixel 9; wv", "Version/4.0 Chrome/140.0.0.0 Mobile")} CoreAssistant/com.google.OPA`,
    `${CHROME},gzip(gfe);GoogleHypersonic`,
    "Mozilla/5.0 (Linux armv7l) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36 OMI/4.21.Catcher4.69 VIDAA/5.0",
  ];
  for (const ua of people) assert.equal(agentReason(ua), "", ua);
  for (const ua of [
    `${CHROME} AgentName/BedrockAgentCoreBrowser`,
    "Mozilla/5.0 (compatible; NovaAct)",
    "Mozilla/5.0 (compatible; Webzio-Extended)",
    "Mozilla/5.0 (compatible; Terra Cotta)",
    "Dalvik/2.1.0 (Linux; U; Android 14; Pixel 9 Build/AP2A)",
    "MyApp/1 CFNetwork/1496.0.7 Darwin/23.5.0",
    "Mozilla/5.0 (Linux; Android 10; Catchpoint) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36",
    "http.rb/5.1.1 (Mastodon/4.2.1; +https://mastodon.example/)",
    "Mastodon/4.3.0 (http.rb/5.2.0; +https://mastodon.example/)",
  ]) {
    assert.notEqual(agentReason(ua), "", ua);
  }
  for (const ua of [
    "Mozilla/5.0 (compatible; MSIE 10.0; Windows NT 6.2; Trident/6.0)",
    "Mozilla/5.0 (compatible; Konqueror/4.14; Linux) KHTML/4.14.2 (like Gecko)",
  ]) {
    assert.equal(agentReason(ua), "", ua);
  }
  // In other places, the same words indicate a bot. A URL after a harmless word also indicates a bot.
  for (const word of ["Googlebot/2.1", "spider", "Discovery", "AppleNewsBot", "x@taobao.com"]) {
    assert.equal(agentReason(`${android("Pixel 9", phone)} (${word})`), "list", word);
  }
  for (const ua of [
    "Dart/3.2 (dart:io)",
    "containerd/1.7.2",
    "Mozilla/5.0 (linux) jsdom/22.1.0",
    "Uptime-Kuma/1.23.11",
  ]) {
    assert.equal(agentReason(ua), "list", ua);
  }
  assert.equal(agentReason(`${CHROME.replace("like Gecko", "like Gecko; compatible; Amzn-User/0.1")}`), "list");
});

test("browser, system and device are derived from a user agent", () => {
  const phone = "Chrome/140.0.0.0 Mobile";
  /** @type {[string, string, string, string][]} */
  const cases = [
    [android("Pixel 9", `Version/4.0 ${phone}`), "Android WebView", "Android", "mobile"],
    [android("Pixel 9", phone), "Chrome", "Android", "mobile"],
    [android("Pixel 9; wv", `Version/4.0 ${phone} YandexSearch/7.54`), "Yandex", "Android", "mobile"],
    [android("Pixel 9", `${phone} UCMobile/15.0.6`), "UC Browser", "Android", "mobile"],
    [android("Pixel 9; wv", `${phone} MQQBrowser/6.2 MicroMessenger/6.7.2`), "WeChat", "Android", "mobile"],
    [
      android("Quest 3", "OculusBrowser/33.0.0 SamsungBrowser/4.0 Chrome/124.0 VR"),
      "Oculus Browser",
      "Android",
      "tablet",
    ],
    [android("SKY PAD8", phone), "Chrome", "Android", "tablet"],
    [android("La_tab_link_74", phone), "Chrome", "Android", "tablet"],
    [android("MagentaTV Box", phone), "Chrome", "Android", "tv"],
    [android("inoiPad Pro", phone), "Chrome", "Android", "tablet"],
    ["Mozilla/5.0 (Web0S; Linux/SmartTV) AppleWebKit/537.36 Chrome/120.0.0.0 Safari/537.36", "Chrome", "webOS", "tv"],
    ["Mozilla/5.0 (Mobile; rv:37.0) Gecko/37.0 Firefox/37.0 KaiOS/1.0", "Firefox", "KaiOS", "mobile"],
    [`${MAC} FxiOS/140.0 Safari/605.1.15`, "Firefox", "iOS", "tablet"],
    [`${MAC} CriOS/140 Version/18.0 Safari/605.1.15`, "Chrome", "iOS", "tablet"],
    [`${MAC} EdgiOS/140.0 Version/18.0 Safari/605.1.15`, "Edge", "iOS", "tablet"],
    [`${MAC} Version/18.0 Safari/605.1.15`, "Safari", "macOS", "desktop"],
    [
      "Mozilla/5.0 (PC; OpenHarmony 6.1; Windows NT 10.0) AppleWebKit/537.36 Chrome/132.0.0.0 HuaweiBrowser/6.1",
      "Huawei Browser",
      "HarmonyOS",
      "desktop",
    ],
  ];
  for (const [ua, browser, os, device] of cases) assert.deepEqual(readAgent(ua), { browser, os, device }, ua);
});

test("in rules, mobile means phones and tablets, and desktop everything else", () => {
  const phone = iphone("Version/18.0 Mobile/15E148 Safari/604.1");
  const tablet =
    "Mozilla/5.0 (Linux; Android 14; SM-X710) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36";
  assert.equal(ruleDevice(phone), "mobile");
  assert.equal(ruleDevice(tablet), "mobile");
  assert.equal(ruleDevice(CHROME), "desktop");
  assert.equal(ruleDevice("curl/8.5.0"), "desktop");
  assert.deepEqual(readAgent(phone), { device: "mobile", browser: "Safari", os: "iOS" });
});
