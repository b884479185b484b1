/** Who is not a person, and why. */

import { isbot } from "isbot";

/**
 * The reasons, in the order in which they are looked at; they are the keys of the breakdown `bots`. "" for a person.
 * @typedef {"" | keyof import("./vocabulary.json")["bot_reasons"]} Reason
 */

// No pattern here or in the lists of agents.js looks for one word behind any other (`a.*b`) unless it is anchored: that
// costs the square of a text's length, and anybody can send a text.

const HEADLESS = /headless|phantomjs|slimerjs|puppeteer|playwright|\bspectron/i;

/** Fetchers of link previews: they come because a person sent the link to another. */
const PREVIEW =
  /facebookexternalhit|facebookcatalog|twitterbot|slackbot|slack-imgproxy|whatsapp\/|telegrambot|discordbot|linkedinbot|skypeuripreview|viberbot|redditbot|pinterestbot|iframely|embedly|mastodon\/|bluesky cardyb|snapchat ?url ?preview|google-pagerenderer|vkshare|\bpreview/i;

/** What the list does not hold; each was seen in a public collection of crawlers' user agents. */
const MORE =
  /^(?!mozilla|opera)[\w.-]+$|\b(?:https?:\/\/|www\.)\S|[\w.+-]@[\w-]+\.[a-z]{2,}|gtmetrix|miniature\.io|\bYLT\b|\bFluid\/|turingos|\b(?:Code|Trae|Cursor|Windsurf)\/[\d.]+ Chrome\//i;

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
  return isbot(ua) || MORE.test(ua) ? "list" : "";
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
