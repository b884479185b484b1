/** Browser, system and device of a user agent, as keys of the breakdowns. The first match of a list names it. */

import { agentReason } from "./bots.js";

/** @typedef {"mobile" | "tablet" | "desktop" | "tv" | "console" | "other"} Device */

/** @type {readonly (readonly [string, RegExp])[]} */
const BROWSERS = [
  ["Edge", /\bEdg(?:e|A|iOS)?\//],
  ["Opera", /\b(?:OPR|OPT|OPiOS|OPX)\/|^Opera|Opera Mini/],
  ["Samsung Internet", /SamsungBrowser\//],
  ["Yandex", /YaBrowser\/|YaApp|YaSearchBrowser/],
  ["Vivaldi", /Vivaldi\//],
  ["UC Browser", /UCBrowser\/|UBrowser\/|UCWEB/],
  ["DuckDuckGo", /DuckDuckGo\/|\bDdg\//],
  ["Whale", /\bWhale\//],
  ["MIUI Browser", /MiuiBrowser\//],
  ["Huawei Browser", /HuaweiBrowser\//],
  ["Vivo Browser", /VivoBrowser\//],
  ["Oppo Browser", /HeyTapBrowser\//],
  ["QQ Browser", /M?QQBrowser/],
  ["Silk", /\bSilk\//],
  ["Brave", /\bBrave\b/],
  ["WeChat", /MicroMessenger\//],
  ["Instagram", /Instagram/],
  ["Facebook", /\bFB(?:AN|AV|_IAB)\b|\[FB/],
  ["TikTok", /musical_ly|BytedanceWebview|TikTok|trill_/],
  ["Snapchat", /Snapchat\//],
  ["Pinterest", /Pinterest\//],
  ["LinkedIn", /LinkedInApp/],
  ["Line", /\bLine\//],
  ["Google app", /\bGSA\//],
  ["Internet Explorer", /\bMSIE |Trident\//],
  ["Firefox", /Firefox\/|FxiOS\/|\bFocus\/|\bKlar\//],
  ["Android WebView", /; wv\)/],
  ["Chrome", /Chrome\/|CriOS\/|Chromium\//],
  ["Android Browser", /Android.*Version\/[\d.]+.*Safari\//],
  ["Safari", /Version\/[\d.]+.*Safari\/|\((?:iPhone|iPad|iPod|Macintosh).*AppleWebKit\//],
];

/** @type {readonly (readonly [string, RegExp])[]} */
const SYSTEMS = [
  ["Windows Phone", /Windows Phone|IEMobile/],
  ["Xbox", /Xbox/],
  ["Windows", /Windows|Win(?:9\d|NT|32|64)\b/],
  ["iOS", /iPhone|iPad|iPod/],
  ["tvOS", /AppleTV|Apple TV/],
  ["KaiOS", /KAIOS/],
  ["Tizen", /Tizen/],
  ["webOS", /web[O0]S|hpwOS/],
  ["PlayStation", /PlayStation/i],
  ["Nintendo", /Nintendo/],
  ["HarmonyOS", /HarmonyOS|OpenHarmony/],
  ["Android", /Android|Silk\//],
  ["ChromeOS", /\bCrOS\b/],
  ["macOS", /Macintosh|Mac OS X|Mac_PowerPC/],
  ["Linux", /Linux|X11|Ubuntu/],
];

const TV = /\bTV\b|Smart-?TV|SMART-TV|HbbTV|AppleTV|GoogleTV|BRAVIA|CrKey|Roku|\bAFT[A-Z]|Web0S|NetCast|DTV|MiBOX/i;
const CONSOLE = /PlayStation|Nintendo|Xbox/i;
const TABLET =
  /iPad|Tablet(?! PC)|PlayBook|Kindle|\bKF[A-Z]{2,4}\b|Nexus (?:7|9|10)\b|\bSM-[TX]\d|GT-P\d|\bPad\b|MediaPad/;
const MOBILE =
  /Mobile|iPhone|iPod|Windows Phone|IEMobile|Opera Mini|Opera Mobi|BlackBerry|BB10|KAIOS|Symbian|UCWEB|\bPhone\b/i;
const DESKTOP = /Windows|Macintosh|Mac OS X|X11|CrOS|Linux/;

/**
 * @param {readonly (readonly [string, RegExp])[]} list
 * @param {string} ua
 */
const firstMatch = (list, ua) => list.find(([, pattern]) => pattern.test(ua))?.[0] ?? "Other";

/** Most characters of a user agent that are looked at: real ones are under 500. */
const UA_CHARS = 512;

/**
 * @param {string} ua
 * @returns {Device}
 */
export function deviceOf(ua) {
  const text = ua.slice(0, UA_CHARS);
  if (TV.test(text)) return "tv";
  if (CONSOLE.test(text)) return "console";
  if (TABLET.test(text)) return "tablet";
  if (MOBILE.test(text)) return "mobile";
  // Android says "Mobile" on phones only (Chrome's and Firefox's documentation of their user agents).
  if (text.includes("Android")) return "tablet";
  return DESKTOP.test(text) ? "desktop" : "other";
}

/**
 * The two devices that a link's rule can name: phones and tablets are `mobile`, everything else is `desktop`.
 * @param {string} ua
 * @returns {"mobile" | "desktop"}
 */
export function ruleDevice(ua) {
  const { device } = agentOf(ua);
  return device === "mobile" || device === "tablet" ? "mobile" : "desktop";
}

/**
 * @param {string} ua
 * @returns {{device: Device, browser: string, os: string}}
 */
export function readAgent(ua) {
  const text = ua.slice(0, UA_CHARS);
  return { device: deviceOf(text), browser: firstMatch(BROWSERS, text), os: firstMatch(SYSTEMS, text) };
}

/** @typedef {{reason: import("./bots.js").Reason, device: Device, browser: string, os: string}} Agent */

/** How many user agents are cached: a few hundred make up nearly all visits, and an invented one costs little. */
const MOST_KNOWN = 500;
const KNOWN_CHARS = 1_024;

/** @type {Map<string, Agent>} */
const known = new Map();

/**
 * Reason, device, browser and system of a user agent; cached, as finding them takes as long as the rest of a request.
 * @param {string} ua
 * @returns {Agent}
 */
export function agentOf(ua) {
  let agent = known.get(ua);
  if (agent === undefined) {
    agent = { reason: agentReason(ua), ...readAgent(ua) };
    if (known.size >= MOST_KNOWN) known.clear();
    if (ua.length <= KNOWN_CHARS) known.set(ua, agent);
  }
  return agent;
}
