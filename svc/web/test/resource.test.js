import assert from "node:assert/strict";
import { test } from "node:test";

import { h, render } from "preact";

import { inBrowser } from "./browser.js";

inBrowser();
const { changed, useResource, whileWorking } = await import("../src/resource.js");
const { end, signIn } = await import("../src/session.js");
const { fill, newKey } = await import("../src/api.js");
const { ApiError } = await import("../src/http.js");

const running = { state: "running", step: "script" };

test("running operation is polled less and less often, down to every five seconds", () => {
  const waits = [0, 1, 2, 3, 4, 9].map((polls) => whileWorking({ operation: running }, polls));
  assert.deepEqual(waits, [1_000, 1_500, 2_250, 3_375, 5_000, 5_000]);
  assert.equal(whileWorking({ state: "installing" }), 1_000);
  assert.equal(whileWorking({ state: "pending" }), 1_000);
});

test("self-check is polled every ten seconds", () => {
  assert.equal(whileWorking({ state: "ready", operation: { state: "running", step: "selfcheck" } }, 7), 10_000);
});

test("pending configuration is polled every two seconds, after 30 seconds every ten", () => {
  assert.equal(whileWorking({ state: "active", config: "pending" }, 3, 6_000), 2_000);
  assert.equal(whileWorking({ state: "active", config: "pending" }, 20, 31_000), 10_000);
  assert.equal(whileWorking({ state: "route_pending", config: "synced" }, 0, 0), 2_000);
});

test("settled object is not polled", () => {
  assert.equal(whileWorking({ state: "ready", operation: { state: "done", step: "selfcheck" } }), null);
  assert.equal(whileWorking({ state: "active", config: "synced" }), null);
  assert.equal(whileWorking(null), null);
});

test("parameters fill the path, and the others form the query", () => {
  assert.equal(
    fill("/v1/sites/{site_id}/report", { site_id: "a/b", period: "7d" }),
    "/v1/sites/a%2Fb/report?period=7d",
  );
  assert.equal(fill("/v1/links", { q: "", order: undefined, limit: 50 }), "/v1/links?limit=50");
  assert.equal(fill("/v1/links", { q: "ü &" }), "/v1/links?q=%C3%BC+%26");
});

test("Idempotency-Keys are unique", () => {
  assert.equal(new Set(Array.from({ length: 100 }, newKey)).size, 100);
  assert.match(newKey(), /^[0-9a-f]{32}$/);
});

// rule Y3
test("transient failure may succeed on retry, an error that the service replays may not", () => {
  const passes = (/** @type {string} */ code, /** @type {number} */ status) =>
    new ApiError(code, "", { status }).passes;
  assert.equal(passes("cloudflare_unavailable", 503), true);
  assert.equal(passes("renew_lost", 502), true);
  assert.equal(passes("token_check_failed", 502), false);
  assert.equal(passes("token_rights_mismatch", 502), false);
});

const session = { access_token: "token", expires_at: "2999-01-01T00:00:00Z", user: { id: "user_1" } };

/**
 * Replace the service.
 * @param {Record<string, () => object | Promise<object>>} bodies the response bodies by path; the service responds to
 *   other requests with 401
 */
function serve(bodies) {
  globalThis.fetch = async (path) => {
    const body = bodies[String(path)];
    return body ? Response.json(await body()) : Response.json({ error: { code: "unauthorized" } }, { status: 401 });
  };
}

/**
 * Show the tags on a page. The page has no elements, so it needs no document.
 * @param {{pace?: import("../src/resource.js").Pace}} [options]
 * @returns {{read: () => any, close: () => void}} `read`: what the page has read so far; see `Read`
 */
function showTags(options) {
  /** @type {any} */
  let read;
  const Tags = () => {
    read = useResource("GET /v1/tags", {}, options);
    return null;
  };
  const root = /** @type {any} */ ({ childNodes: [] });
  render(h(Tags, null), root);
  return { read: () => read, close: () => render(null, root) };
}

/** Let pending promises and renderings continue. */
const turn = () => new Promise((next) => setImmediate(next));

/** @param {() => unknown} condition */
async function until(condition) {
  while (!condition()) await turn();
}

test("response that is older than a write is discarded", async () => {
  let tags = ["before"];
  /** @type {(() => void) | undefined} */
  let release;
  const old = { tags };
  serve({
    "/auth/sign-in": () => session,
    "/v1/tags": () => (release ? { tags } : new Promise((send) => (release = () => send(old)))),
  });
  await signIn("you@example.com", "a long password");
  const { read, close } = showTags();
  await until(() => release);
  tags = ["after"];
  changed("/v1/tags");
  release?.();
  await until(() => read().data);
  close();
  assert.deepEqual(read().data.tags, ["after"]);
});

test("page that is opened again shortly after a read continues to poll", async (t) => {
  let requests = 0;
  serve({ "/auth/sign-in": () => session, "/v1/tags": () => ((requests += 1), { tags: [] }) });
  await signIn("you@example.com", "a long password");
  t.mock.timers.enable({ apis: ["setTimeout"] });
  changed("/v1/tags");
  const before = showTags({ pace: () => 2_000 });
  await until(() => before.read().data);
  before.close();
  const again = showTags({ pace: () => 2_000 });
  t.mock.timers.tick(2_000);
  await turn();
  again.close();
  assert.equal(requests, 2);
});

test("page that stays on the screen reads again after the user has signed in again", async (t) => {
  serve({});
  end();
  changed("/v1/tags");
  const { read, close } = showTags();
  t.after(close);
  await until(() => read().error);
  assert.equal(read().error.code, "unauthorized");
  let requests = 0;
  serve({ "/auth/sign-in": () => session, "/v1/tags": () => ((requests += 1), { tags: ["read again"] }) });
  await signIn("you@example.com", "a long password");
  await turn();
  assert.equal(requests, 1);
  await until(() => !read().error);
  assert.deepEqual(read().data.tags, ["read again"]);
});
