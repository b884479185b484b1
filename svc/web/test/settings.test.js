import assert from "node:assert/strict";
import { test } from "node:test";

import { inBrowser, speak } from "./browser.js";

inBrowser();
// Older versions, in which users could not set a language in their profile, stored this value in every browser.
const stored = new Map([["language", "system"]]);
Object.defineProperty(globalThis, "localStorage", {
  value: {
    getItem: (/** @type {string} */ name) => stored.get(name) ?? null,
    setItem: (/** @type {string} */ name, /** @type {string} */ value) => void stored.set(name, value),
  },
  configurable: true,
});
const { chosenLanguage, language, profileLanguage, textLanguage } = await import("../src/settings.js");
const { send } = await import("../src/http.js");

test("choice of this browser comes before the profile, and the profile before the browser's languages", () => {
  speak(["fr", "de-AT", "en"]);
  assert.deepEqual([language.value, chosenLanguage(), textLanguage()], ["", "browser", "de"]);
  profileLanguage.value = "en";
  assert.deepEqual([chosenLanguage(), textLanguage()], ["en", "en"]);
  language.value = "browser";
  assert.deepEqual([chosenLanguage(), textLanguage(), stored.get("language")], ["browser", "de", "browser"]);
  language.value = "en";
  profileLanguage.value = "de";
  assert.deepEqual([chosenLanguage(), textLanguage()], ["en", "en"]);
  language.value = "";
  profileLanguage.value = null;
  speak(["fr"]);
  assert.equal(textLanguage(), "en");
});

test("requests ask for the language of the pages", async (context) => {
  const asked = context.mock.method(globalThis, "fetch", async () => new Response("{}"));
  profileLanguage.value = "de";
  await send("POST", "/auth/sign-up");
  profileLanguage.value = "en";
  await send("GET", "/v1/me");
  assert.deepEqual(
    asked.mock.calls.map((call) => new Headers(call.arguments[1]?.headers).get("Accept-Language")),
    ["de", "en"],
  );
});
