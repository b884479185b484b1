import assert from "node:assert/strict";
import { test } from "node:test";

import { inBrowser } from "./browser.js";

inBrowser();
const { whileWorking } = await import("../src/resource.js");
const { fill, newKey } = await import("../src/api.js");
const { ApiError } = await import("../src/http.js");

const running = { state: "running", step: "script" };

test("what is under way is looked at less and less often, at most every five seconds", () => {
  const waits = [0, 1, 2, 3, 4, 9].map((looks) => whileWorking({ operation: running }, looks));
  assert.deepEqual(waits, [1_000, 1_500, 2_250, 3_375, 5_000, 5_000]);
  assert.equal(whileWorking({ state: "installing" }), 1_000);
  assert.equal(whileWorking({ state: "pending" }), 1_000);
});

test("a self-check, which may take a quarter of an hour, is looked at every ten seconds", () => {
  assert.equal(whileWorking({ state: "ready", operation: { state: "running", step: "selfcheck" } }, 7), 10_000);
});

test("a configuration on its way is looked at every two seconds, after half a minute every ten", () => {
  assert.equal(whileWorking({ state: "active", config: "pending" }, 3, 6_000), 2_000);
  assert.equal(whileWorking({ state: "active", config: "pending" }, 20, 31_000), 10_000);
  assert.equal(whileWorking({ state: "route_pending", config: "synced" }, 0, 0), 2_000);
});

test("what has settled is left alone", () => {
  assert.equal(whileWorking({ state: "ready", operation: { state: "done", step: "selfcheck" } }), null);
  assert.equal(whileWorking({ state: "active", config: "synced" }), null);
  assert.equal(whileWorking(null), null);
});

test("a call's path has its parts, and the rest behind the question mark", () => {
  assert.equal(
    fill("/v1/sites/{site_id}/report", { site_id: "a/b", period: "7d" }),
    "/v1/sites/a%2Fb/report?period=7d",
  );
  assert.equal(fill("/v1/links", { q: "", order: undefined, limit: 50 }), "/v1/links?limit=50");
  assert.equal(fill("/v1/links", { q: "ü &" }), "/v1/links?q=%C3%BC+%26");
});

test("no two Idempotency-Keys are the same", () => {
  assert.equal(new Set(Array.from({ length: 100 }, newKey)).size, 100);
  assert.match(newKey(), /^[0-9a-f]{32}$/);
});

// rule Y3
test("a transient failure is repeated under the same key, a refusal that the service replays is not", () => {
  const passes = (/** @type {string} */ code, /** @type {number} */ status) =>
    new ApiError(code, "", { status }).passes;
  assert.equal(passes("cloudflare_unavailable", 503), true);
  assert.equal(passes("renew_lost", 502), true);
  assert.equal(passes("token_check_failed", 502), false);
  assert.equal(passes("token_rights_mismatch", 502), false);
});
