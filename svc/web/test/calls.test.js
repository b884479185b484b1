import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";

import { CALLS } from "../src/ui/calls.js";

const request = {
  method: "POST",
  url: "http://svc.test/v1/sites?q=it's",
  headers: { Authorization: "Bearer $SVC_KEY", "Content-Type": "application/json", "Idempotency-Key": '`id`"$(id)' },
  body: JSON.stringify({ host: "it's $(id)", respect_gpc: true, excluded_paths: null, at: ["\\", "ä"] }),
};

test("curl sample quotes its arguments so that the shell executes nothing in them", () => {
  const printed = CALLS.curl(request).replace(/^curl/, "printf '%s\\n'");
  const words = execFileSync("sh", ["-c", printed], { env: { SVC_KEY: "svc_1" }, encoding: "utf8" })
    .trim()
    .split("\n");
  const headers = ["Authorization: Bearer svc_1", "Content-Type: application/json", 'Idempotency-Key: `id`"$(id)'];
  const expected = ["-X", "POST", request.url, ...headers.flatMap((line) => ["-H", line]), "--data", request.body];
  assert.deepEqual(words, expected);
});

test("JavaScript sample sends the same request", async () => {
  /** @type {any[]} */
  const asked = [];
  const response = { status: 200, text: async () => "" };
  const fetched = (/** @type {any[]} */ ...sent) => (asked.push(...sent), response);
  const body = `return (async () => { ${CALLS.JavaScript(request)} })()`;
  await new Function("fetch", "process", "console", body)(fetched, { env: { SVC_KEY: "svc_1" } }, { log() {} });
  const headers = { ...request.headers, Authorization: "Bearer svc_1" };
  assert.deepEqual(asked, [request.url, { method: "POST", headers, body: request.body }]);
});

test("Python sample uses True and None", () => {
  const python = CALLS["Python (httpx)"](request);
  assert.match(python, /"respect_gpc": True, "excluded_paths": None, "at": \["\\\\", "ä"\]/);
  assert.match(python, /"Authorization": "Bearer " \+ os\.environ\["SVC_KEY"\]/);
  assert.doesNotMatch(python, /Content-Type/);
});
