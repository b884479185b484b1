/** Derives the browser, system and device from a user agent. In each list, the first matching pattern wins. */

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

/**
 * Matches browsers on an iPad that requests desktop pages. It does not match Safari, which sends the user agent of a
 * Mac in this case.
 */
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
  // Android must precede iOS, because some manufacturers use iOS names for their Android models.
  ["Android", /\bAndr[o0]id\b|\bAdr [\d.]|Silk\//],
  ["iOS", /iPhone|iPad|iPod/],
  ["iOS", DESKTOP_IPAD],
  ["ChromeOS", /\bCrOS\b/],
  ["macOS", /Macintosh|Mac OS X|Mac_PowerPC/],
  ["Linux", /Linux|X11|Ubuntu/],
];

// Most of these words also match within longer names, such as "SKY PAD8", "La_tab_link" and "MagentaTV". The patterns
// exclude "DTV" (a TV receiver in a phone) and "Tablet PC" (an old Windows edition), which are other devices.
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

/** User agents are truncated to this many characters. Those of real browsers are shorter. */
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
  // Android browsers send "Mobile" only on phones (Chrome and Firefox user agent documentation).
  if (ua.includes("Android")) return "tablet";
  return DESKTOP.test(ua) ? "desktop" : "other";
}

/**
 * Returns the device that link rules match: `mobile` for phones and tablets, `desktop` for all other devices.
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

/** Maximum number of cached user agents. A few hundred of them account for nearly all visits. */
const MAX_CACHED = 500;

/** @type {Map<string, Agent>} */
const cachedAgents = keep(new Map());

/**
 * Classifies a user agent. The result is cached, because a classification takes as much CPU time as the rest of the
 * request.
 * @param {string} ua at most UA_CHARS characters
 * @returns {Agent}
 */
export function agentOf(ua) {
  let agent = cachedAgents.get(ua);
  if (agent === undefined) {
    agent = { reason: agentReason(ua), ...readAgent(ua) };
    if (cachedAgents.size >= MAX_CACHED) cachedAgents.clear();
    cachedAgents.set(ua, agent);
  }
  return agent;
}
