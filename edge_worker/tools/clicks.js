/**
 * Evaluates clicks with the Worker's own functions. `node tools/clicks.js < CLICKS` reads a JSON list of
 * {link, country, ua, language, search, method}. It writes a list of {url, reason, source, device, browser, os}.
 * `language` is the header Accept-Language.
 */

import { readFileSync } from "node:fs";

import { UA_CHARS, agentOf } from "../src/agents.js";
import { botReason } from "../src/bots.js";
import { targetOf } from "../src/links.js";
import { clickSource } from "../src/sources.js";
import { cut } from "../src/text.js";

/**
 * @typedef {{link: import("../src/links.js").Link, country: string, ua: string, language: string, search: string,
 *   method: string}} Click
 * @param {Click} click
 */
function read({ link, country, ua: sent, language, search, method }) {
  const ua = cut(sent, UA_CHARS);
  const { reason: byAgent, device, browser, os } = agentOf(ua);
  const reason = botReason({ method, purpose: "", driven: false, byAgent });
  const source = clickSource("", search, "go.example.com");
  // Not `Headers`, which rejects characters that the generated texts contain.
  const headers = new Map([["accept-language", language]]);
  const url = targetOf(link, { country, ua, search, headers });
  return { url, reason, source: reason === "" ? source : "", device, browser, os };
}

/** @type {Click[]} */
const clicks = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(clicks.map(read)));
