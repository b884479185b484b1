/**
 * Controls a real headless Chromium. `node tools/browser.js` reads JSON from stdin and writes JSON to stdout.
 *
 * In:  {"host_rules": "MAP * 127.0.0.1:8787", "user_agent": "…", "driven": false, "steps": [
 *        {"goto": "http://shop.test/"}, {"push_state": "/a"}, {"replace_state": "/b"}, {"back": true},
 *        {"forward": true}, {"click": "#id"}, {"evaluate": "expression"}, {"until": "expression"}, {"idle": true},
 *        {"before_load": "script to run first in each later page"}]}
 * Out: {"steps": [the value of each step, null for most], "console": ["error: …"], "requests": ["POST http://…"]}
 *
 * The browser is $CHROMIUM if set, otherwise `chromium` from the path, otherwise the browser in @sparticuz/chromium.
 * Without "driven", navigator.webdriver is not set, as in a person's browser.
 */

import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { text } from "node:stream/consumers";

import chromium from "@sparticuz/chromium";
import { launch } from "puppeteer-core";

const STEP_MS = 20_000;
const IDLE_MS = 300;
// The browser never reports the end of a beacon if the page closes first. Up to this many requests may therefore still
// be pending when the browser counts as idle.
const UNHEARD_BEACONS = 10;
// The list omits two arguments that @sparticuz/chromium recommends: --single-process crashes occasionally, and
// --disable-web-security would make the browser differ from those of visitors.
const ARGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"];

/** @returns {Promise<string>} the path of the browser */
async function findBrowser() {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    for (const name of ["chromium", "chromium-browser"]) {
      try {
        accessSync(join(folder, name), constants.X_OK);
        return join(folder, name);
      } catch {
        // the browser is not in this folder
      }
    }
  }
  return chromium.executablePath();
}

/**
 * @param {import("puppeteer-core").Page} page
 * @param {Record<string, any>} step
 * @returns {Promise<unknown>}
 */
async function runStep(page, step) {
  const [name, value] = Object.entries(step)[0] ?? [];
  switch (name) {
    case "goto":
      await page.goto(value, { waitUntil: "load" });
      return null;
    case "back":
      await page.goBack({ waitUntil: "load" });
      return null;
    case "forward":
      await page.goForward({ waitUntil: "load" });
      return null;
    case "push_state":
      return page.evaluate((path) => /** @type {any} */ (globalThis).history.pushState(null, "", path), value);
    case "replace_state":
      return page.evaluate((path) => /** @type {any} */ (globalThis).history.replaceState(null, "", path), value);
    case "click":
      await Promise.all([page.waitForNavigation({ waitUntil: "load" }), page.click(value)]);
      return null;
    case "evaluate":
      return (await page.evaluate(value)) ?? null;
    case "until":
      await page.waitForFunction(value, { timeout: STEP_MS });
      return null;
    case "before_load":
      await page.evaluateOnNewDocument(value);
      return null;
    case "idle":
      await page.waitForNetworkIdle({ idleTime: IDLE_MS, timeout: STEP_MS, concurrency: UNHEARD_BEACONS });
      return null;
    default:
      throw new Error(`unknown step: ${JSON.stringify(step)}`);
  }
}

/**
 * @param {{host_rules?: string, user_agent?: string, driven?: boolean, steps: Record<string, any>[]}} order
 * @returns {Promise<{steps: unknown[], console: string[], requests: string[]}>}
 */
async function drive(order) {
  const args = [...ARGS];
  if (order.host_rules) args.push(`--host-resolver-rules=${order.host_rules}`);
  if (order.user_agent) args.push(`--user-agent=${order.user_agent}`);
  if (!order.driven) args.push("--disable-blink-features=AutomationControlled");
  const ignoreDefaultArgs = ["--disable-back-forward-cache", ...(order.driven ? [] : ["--enable-automation"])];
  const browser = await launch({ executablePath: await findBrowser(), args, ignoreDefaultArgs, headless: "shell" });
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(STEP_MS);
    /** @type {string[]} */
    const printed = [];
    /** @type {string[]} */
    const requests = [];
    page.on("console", (message) => printed.push(`${message.type()}: ${message.text()}`));
    page.on("pageerror", (error) => printed.push(`error: ${String(error)}`));
    page.on("request", (request) => requests.push(`${request.method()} ${request.url()}`));
    const steps = [];
    for (const step of order.steps) steps.push(await runStep(page, step));
    return { steps, console: printed, requests };
  } finally {
    await browser.close();
  }
}

process.stdout.write(`${JSON.stringify(await drive(JSON.parse(await text(process.stdin))))}\n`);
