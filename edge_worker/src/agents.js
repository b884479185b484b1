/** Browser, system and device of a user agent, as keys of the breakdowns. The first match of a list names it. */

import { keep } from "./isolate.js";
import { agentReason } from "./bots.js";

/** @typedef {"mobile" | "tablet" | "desktop" | "tv" | "console" | "other"} Device */

/** @type {readonly (readonly [string, RegExp])[]} */
export const BROWSERS = [
  ["Edge", /\bEdg(?:e|A|iOS)?\//],
  ["UC Browser", /\bUC(?:Browser|Mobile|PC|Mini|WEB|Turbo)\b|UBrowser\//],
  ["Opera", /\b(?:OPR|OPT|OPiOS|OPX)\/|\bOpera\b/],
  ["Oculus Browser", /OculusBrowser\//],
  ["Samsung Internet", /SamsungBrowser\//],
  ["Yandex", /YaBrowser\/|YaApp|YaSearch|YandexSearch/],
  ["Vivaldi", /Vivaldi\//],
  ["DuckDuckGo", /DuckDuckGo\/|\bDdg\//],
  ["Whale", /\bWhale\//],
  ["MIUI Browser", /MiuiBrowser\//],
  ["Huawei Browser", /HuaweiBrowser\//],
  ["Vivo Browser", /VivoBrowser\//],
  ["Oppo Browser", /(?:HeyTap|Oppo)Browser\//],
  ["Silk", /\bSilk\//],
  ["Brave", /\bBrave\b/i],
  ["WeChat", /MicroMessenger\//],
  ["QQ Browser", /QQBrowser/],
  ["Instagram", /Instagram/],
  ["Facebook", /\bFB(?:AN|AV|_IAB)\b|\[FB/],
  ["TikTok", /musical_ly|BytedanceWebview|TikTok|trill_/],
  ["Snapchat", /Snapchat/],
  ["Pinterest", /Pinterest/],
  ["LinkedIn", /LinkedInApp/],
  ["Line", /\bLine\//],
  ["Google app", /\bGSA\/|\bGoogleApp\//],
  ["Internet Explorer", /\bMSIE |Trident\//],
  ["Firefox", /Firefox\/|FxiOS\/|\bFocus\/|\bKlar\//],
  ["Android WebView", /; wv\b|\bVersion\/[\d.]+ Chrome\//],
  ["Chrome", /Chrome\/|CriOS\/|Chromium\//],
  ["Android Browser", /^(?=.*Android)(?=.*Version\/).*Safari\//],
  ["Safari", /^(?=.*Version\/|.*\((?:iPhone|iPad|iPod|Macintosh)).*(?:Safari|AppleWebKit)\//],
];

/** Browsers of an iPad that asks for a page as a desktop would; Safari itself tells nothing then. */
export const DESKTOP_IPAD = /^[^(]*\(Macintosh[^)]*\).*\b(?:FxiOS|CriOS|EdgiOS|OPiOS|OPT)\//;

/** @type {readonly (readonly [string, RegExp])[]} */
export const SYSTEMS = [
  ["Windows Phone", /Windows Phone|IEMobile/],
  ["Xbox", /Xbox/],
  ["HarmonyOS", /HarmonyOS|OpenHarmony/],
  ["Windows", /Windows|Win(?:9\d|NT|32|64)\b/],
  ["tvOS", /AppleTV|Apple TV/],
  ["KaiOS", /KAIOS/i],
  ["Tizen", /Tizen/],
  ["webOS", /[Ww]eb[O0]S|hpwOS/],
  ["PlayStation", /PlayStation/i],
  ["Nintendo", /Nintendo/],
  // Before iOS: some makers call their models so.
  ["Android", /\bAndr[o0]id\b|\bAdr [\d.]|Silk\//],
  ["iOS", /iPhone|iPad|iPod/],
  ["iOS", DESKTOP_IPAD],
  ["ChromeOS", /\bCrOS\b/],
  ["macOS", /Macintosh|Mac OS X|Mac_PowerPC/],
  ["Linux", /Linux|X11|Ubuntu/],
];

// Words of models, so they may stand inside a name: "SKY PAD8", "La_tab_link", "MagentaTV"; but not "DTV", a phone's
// receiver, nor "Tablet PC", an old Windows.
export const CONSOLE = /PlayStation|Nintendo|\bXbox/i;
export const TV =
  /(?<![DM])TV(?![A-Za-z])|\bTV|Smart-?TV|HbbTV|BRAVIA|CrKey|Chromecast|Roku|\bAFT[A-Z]|[Ww]eb0S|NetCast|VIDAA|\bOMI\/|BrightSign|LED\d\d|(?:[ _-]|MI|Hi|TV)[Bb](?:ox|OX)(?![A-Za-z])/;
export const TABLET =
  /Tablet(?! PC)|tab(?![a-z])|pad(?![a-z])|PlayBook|Kindle|\bKF[A-Z]{2,4}\b|Nexus (?:7|9|10)\b|\bSM-[TX]\d|GT-P\d/i;
export const MOBILE =
  /Mobile|iPhone|iPod|Windows Phone|IEMobile|Opera Mini|Opera Mobi|BlackBerry|BB10|KAIOS|Symbian|UCWEB|\bPhone\b/i;
export const DESKTOP = /Windows|Macintosh|Mac OS X|X11|CrOS|Linux/;

/**
 * @param {readonly (readonly [string, RegExp])[]} list
 * @param {string} ua
 */
const firstMatch = (list, ua) => list.find(([, pattern]) => pattern.test(ua))?.[0] ?? "Other";

/** Most characters of a user agent that are kept of a request: real ones have fewer. */
export const UA_CHARS = 512;

/**
 * @param {string} ua
 * @returns {Device}
 */
export function deviceOf(ua) {
  if (CONSOLE.test(ua)) return "console";
  if (TV.test(ua)) return "tv";
  if (TABLET.test(ua) || DESKTOP_IPAD.test(ua)) return "tablet";
  if (MOBILE.test(ua)) return "mobile";
  // Android says "Mobile" on phones only (Chrome's and Firefox's documentation of their user agents).
  if (ua.includes("Android")) return "tablet";
  return DESKTOP.test(ua) ? "desktop" : "other";
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
  return { device: deviceOf(ua), browser: firstMatch(BROWSERS, ua), os: firstMatch(SYSTEMS, ua) };
}

/** @typedef {{reason: import("./bots.js").Reason, device: Device, browser: string, os: string}} Agent */

/** How many user agents are cached: a few hundred make up nearly all visits, and an invented one costs little. */
const MOST_KNOWN = 500;

/** @type {Map<string, Agent>} */
const known = keep(new Map());

/**
 * Reason, device, browser and system of a user agent; cached, as finding them takes as long as the rest of a request.
 * @param {string} ua at most UA_CHARS characters
 * @returns {Agent}
 */
export function agentOf(ua) {
  let agent = known.get(ua);
  if (agent === undefined) {
    agent = { reason: agentReason(ua), ...readAgent(ua) };
    if (known.size >= MOST_KNOWN) known.clear();
    known.set(ua, agent);
  }
  return agent;
}
