/**
 * Evaluates clicks with the Worker's own functions. `node tools/clicks.js < CLICKS` reads a JSON list of {link,
 * country, ua, language, search, method, at, bucket, not_found_url}. It writes a list of {url, outside, reason, source,
 * device, browser, os}. `language` is the header Accept-Language, and `url` is null for the page for unknown codes.
 */

import { readFileSync } from "node:fs";

import { UA_CHARS, agentOf } from "../src/agents.js";
import { botReason } from "../src/bots.js";
import { outsideOf } from "../src/link_period.js";
import { withQuery } from "../src/link_query.js";
import { targetOf } from "../src/links.js";
import { clickSource } from "../src/sources.js";
import { cut } from "../src/text.js";

/**
 * @typedef {{link: import("../src/links.js").Link, country: string, ua: string, language: string, search: string,
 *   method: string, at: number, bucket: number, not_found_url: string | null}} Click
 * @param {Click} click
 */
function read({ link, country, ua: sent, language, search, method, at, bucket, not_found_url }) {
  const ua = cut(sent, UA_CHARS);
  const { reason: byAgent, device, browser, os } = agentOf(ua);
  const reason = botReason({ method, purpose: "", driven: false, byAgent });
  const source = clickSource("", search, "go.example.com");
  // This is not a `Headers` object, because `Headers` rejects some characters of the generated texts.
  const headers = new Map([["accept-language", language]]);
  const outside = outsideOf(link, at);
  const target = targetOf(link, { country, ua, search, headers, bucket: () => bucket });
  const inside = link.forward_query ? withQuery(target, search) : target;
  const url = outside === "" ? inside : (link.after_url ?? not_found_url);
  const isView = reason === "" && outside === "";
  return { url, outside: reason === "" ? outside : "", reason, source: isView ? source : "", device, browser, os };
}

/** @type {Click[]} */
const clicks = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(clicks.map(read)));
