/** Detects requests that were not made by a person, and returns why they count as bot traffic. */

import { isbot } from "isbot";

/**
 * The reason why a request counts as a bot, or "" for a person. vocabulary.json lists the reasons in the order in which
 * they are checked. They are also the keys of the `bots` breakdown.
 * @typedef {"" | keyof import("./vocabulary.json")["bot_reasons"]} Reason
 */

// Security: visitors control the text that is matched. A pattern such as `a.*b`, here and in agents.js, must be
// anchored. Otherwise, its running time is quadratic in the length of the text.

export const HEADLESS = /headless|phantomjs|slimerjs|puppeteer|playwright|\bspectron/i;

/** Programs that fetch a preview of a link that a person has posted. */
export const PREVIEW =
  /facebookexternalhit|facebookcatalog|twitterbot|slackbot|slack-imgproxy|whatsapp\/|telegrambot|discordbot|linkedinbot|skypeuripreview|viberbot|redditbot|pinterestbot|iframely|embedly|^(?:http\.rb|mastodon)\/|bluesky cardyb|snapchat ?url ?preview|google-pagerenderer|vkshare|\bpreview/i;

/** Bots that `isbot` does not recognize, from public collections of crawler user agents. */
export const MORE =
  /^(?!mozilla|opera)[\w.-]+$|\b(?:https?:\/\/|www\.)\S|[\w.+-]@[\w-]+\.[a-z]{2,}|gtmetrix|miniature\.io|\bYLT\b|\bFluid\/|turingos|\b(?:Code|Trae|Cursor|Windsurf)\/[\d.]+ Chrome\/|like Gecko; compatible;|\bslurp\b|jsdom|^(?:Dart|Dalvik|AWP)\/|\bCFNetwork\/|^Mozilla\/\d\.0 \(compatible; (?!MSIE|Konqueror|iCab|OmniWeb|Windows|Linux)|BedrockAgentCore|Assetnote|\bReaver\b|\b360JK\b|\bHLB\b|PowerShell|containerd|\bUptime|ELinks/i;

/**
 * Parts of user agents that make `isbot` take people for bots: Android models (Discovery, CUBOT, Newsday, Spider),
 * operating systems, and a few apps. A match is replaced with its capture group before `isbot` checks the user agent
 * again.
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

/** Values of `Purpose`, `X-Purpose`, `X-Moz` and `Sec-Purpose` for a prefetched page, which no visitor has seen yet. */
const PREFETCH = /prefetch|prerender|preview/i;

/**
 * Returns the reason why a request with this user agent counts as a bot.
 * @param {string} ua
 * @returns {Reason} "" for a person
 */
export function agentReason(ua) {
  if (ua === "") return "empty";
  if (HEADLESS.test(ua)) return "headless";
  if (PREVIEW.test(ua)) return "preview";
  if (!isbot(ua) && !MORE.test(ua)) return "";
  // This second check is slow, but few user agents need it, and most of these belong to bots.
  const rest = ua.replace(HARMLESS, "$1");
  return rest === ua || isbot(rest) || MORE.test(rest) ? "list" : "";
}

/**
 * @param {{method: string, purpose: string, driven: boolean, byAgent: Reason}} request purpose: the purpose header, or
 *   "" for none; byAgent: the result of `agentReason`
 * @returns {Reason} "" for a person
 */
export function botReason({ method, purpose, driven, byAgent }) {
  if (method === "HEAD") return "head";
  if (byAgent === "empty") return byAgent;
  if (purpose !== "" && PREFETCH.test(purpose)) return "prefetch";
  return driven ? "webdriver" : byAgent;
}
