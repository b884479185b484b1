/** Who is not a person, and why. */

import { isbot } from "isbot";

/**
 * The reasons, in the order in which they are looked at; they are the keys of the breakdown `bots`. "" for a person.
 * @typedef {"" | keyof import("./vocabulary.json")["bot_reasons"]} Reason
 */

// No pattern here or in the lists of agents.js looks for one word behind any other (`a.*b`) unless it is anchored: that
// costs the square of a text's length, and anybody can send a text.

export const HEADLESS = /headless|phantomjs|slimerjs|puppeteer|playwright|\bspectron/i;

/** Fetchers of link previews: they come because a person sent the link to another. */
export const PREVIEW =
  /facebookexternalhit|facebookcatalog|twitterbot|slackbot|slack-imgproxy|whatsapp\/|telegrambot|discordbot|linkedinbot|skypeuripreview|viberbot|redditbot|pinterestbot|iframely|embedly|^(?:http\.rb|mastodon)\/|bluesky cardyb|snapchat ?url ?preview|google-pagerenderer|vkshare|\bpreview/i;

/** What the list does not hold; each was seen in a public collection of crawlers' user agents. */
export const MORE =
  /^(?!mozilla|opera)[\w.-]+$|\b(?:https?:\/\/|www\.)\S|[\w.+-]@[\w-]+\.[a-z]{2,}|gtmetrix|miniature\.io|\bYLT\b|\bFluid\/|turingos|\b(?:Code|Trae|Cursor|Windsurf)\/[\d.]+ Chrome\/|like Gecko; compatible;|\bslurp\b|jsdom|^(?:Dart|Dalvik|AWP)\/|\bCFNetwork\/|^Mozilla\/\d\.0 \(compatible; (?!MSIE|Konqueror|iCab|OmniWeb|Windows|Linux)|BedrockAgentCore|Assetnote|\bReaver\b|\b360JK\b|\bHLB\b|PowerShell|containerd|\bUptime|ELinks/i;

/**
 * What people's own devices and apps call themselves, and the list takes for a bot's word: the model of an Android
 * device (Discovery, CUBOT, Newsday, Spider: its maker's choice), systems, and the parts of a few apps. What the one
 * group holds stays.
 */
export const HARMLESS = new RegExp(
  [
    "(\\bAndroid [\\d.]+;)(?: [a-z]{2}[-_][a-z]{2};)?(?! ?Catchpoint) ?[^;()]*",
    "(?:\\bwebOS|\\bBada|\\bREX)/1\\.0;",
    // TVs
    "Google ?TV|\\bCatcher[\\d.]+",
    // apps
    "Process/tools\\w*|Sogou(?:MSE|Mobile\\w*|Search Android)|@(?:ali|lazada|taobao|tmall)\\w*|\\bAliApp\\([^)]*\\)",
    "\\bApple ?News\\b|\\(KHTML, like Gecko\\) News/|\\bcom\\.google\\.[\\w.]+/?|\\bgoogle_ios\\b|Google(?:Lens|PlayStore|Hypersonic)",
    "\\bMobile(?:/\\w+)?(?: Safari/[\\d.]+)? [\\w-]*(?:News|Feedly)[\\w-]*/[\\d.]+|\\bAlipayDefined\\([^)]*\\)",
  ].join("|"),
  "gi",
);

/** `Purpose`, `X-Purpose`, `X-Moz` and `Sec-Purpose` name a fetch that nobody has seen yet. */
const PREFETCH = /prefetch|prerender|preview/i;

/**
 * What the user agent alone tells.
 * @param {string} ua
 * @returns {Reason} "" for a person
 */
export function agentReason(ua) {
  if (ua === "") return "empty";
  if (HEADLESS.test(ua)) return "headless";
  if (PREVIEW.test(ua)) return "preview";
  if (!isbot(ua) && !MORE.test(ua)) return "";
  // Few get here, and most of them are bots.
  const rest = ua.replace(HARMLESS, "$1");
  return rest === ua || isbot(rest) || MORE.test(rest) ? "list" : "";
}

/**
 * @param {{method: string, purpose: string, driven: boolean, byAgent: Reason}} request purpose: the purpose headers,
 *   joined; byAgent: the result of `agentReason`
 * @returns {Reason} "" for a person
 */
export function botReason({ method, purpose, driven, byAgent }) {
  if (method === "HEAD") return "head";
  if (byAgent === "empty") return byAgent;
  if (purpose !== "" && PREFETCH.test(purpose)) return "prefetch";
  return driven ? "webdriver" : byAgent;
}
