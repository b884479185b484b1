import assert from "node:assert/strict";
import { test } from "node:test";

import { afterPush, nextSlot, ownSecond, pushBody, pushDue, readReceipt } from "../src/push.js";
import { readState } from "../src/state.js";
import { HOUR_MS, MINUTE_MS } from "../src/time.js";

const NOW = Date.UTC(2026, 10, 21, 10, 20);
const ENV = {
  PUSH_URL: "https://svc.example/edge/push",
  WORKER_KEY: "secret",
  BUNDLE: "b".repeat(64),
  INSTALL: "i2",
  PUSH_SECOND: "1020",
};
const ROWS = [17, 18].map((id) => ({ id, part: `{"day":"2026-11-21","days":[["site_a",${id},0,1],["lnk_x",1,0,1]]}` }));

/** @param {object} [push] */
function stateWith(push) {
  const state = readState("{}", NOW);
  return { ...state, push: { ...state.push, install: "i2", tried: "i2", ...push } };
}

/** @param {number} status @param {object} [more] */
const outcome = (status, more) => ({
  status,
  retryAfterS: 0,
  receipt: null,
  error: `push: the service responded with status ${status}`,
  ...more,
});

// rule W1
test("a new upload pushes immediately, even if the previous one was waiting", () => {
  const waiting = stateWith({ next_at: NOW + HOUR_MS, fails: 9 });
  assert.equal(pushDue(waiting, "i2", NOW), "no");
  assert.equal(pushDue(waiting, "i3", NOW), "now");
});

// rule W3
test("the hourly push has a fixed second, and waits a limited time for the hour to be closed", () => {
  const envAt = (/** @type {number} */ minute, second = 0) => ({ ...ENV, PUSH_SECOND: String(minute * 60 + second) });
  assert.equal(nextSlot(NOW, envAt(17)), Date.UTC(2026, 10, 21, 11, 17));
  assert.equal(nextSlot(NOW, envAt(20)), Date.UTC(2026, 10, 21, 11, 20));
  assert.equal(nextSlot(NOW, envAt(20, 1)), Date.UTC(2026, 10, 21, 10, 20, 1));
  assert.equal(nextSlot(NOW, envAt(21)), Date.UTC(2026, 10, 21, 10, 21));
  // A push waits for the account's second of the current minute, even if the cron run starts late. If that second has
  // passed, the push is sent immediately.
  assert.equal(ownSecond(NOW, envAt(17, 42)), NOW + 42_000);
  assert.equal(ownSecond(NOW + 30_000, envAt(17, 42)), NOW + 42_000);
  assert.equal(ownSecond(NOW + 50_000, envAt(17, 42)), NOW + 50_000);
  assert.equal(pushDue(stateWith({ next_at: NOW }), "i2", NOW), "if_queued");
  assert.equal(pushDue(stateWith({ next_at: NOW }), "i2", NOW + 10 * MINUTE_MS), "now");
});

test("the body is JSON with unchanged parts", () => {
  const body = pushBody(ENV, { state: stateWith(), schema: 1, now: NOW }, ROWS, 2, "x".repeat(500), "push");
  const read = JSON.parse(body);
  assert.deepEqual(
    read.parts.map((/** @type {any} */ part) => [part.id, part.day]),
    [
      [17, "2026-11-21"],
      [18, "2026-11-21"],
    ],
  );
  assert.equal(read.error.length, 200);
  assert.equal(read.error_kind, "push");
  assert.ok(!body.includes("secret"));
});

test("accepted and rejected parts leave the queue, and rejections are counted", () => {
  const receipt = { ok: true, accepted: [17, 99], refused: [{ id: 18, code: "too_old" }], unknown_targets: ["lnk_x"] };
  const failed = stateWith({ fails: 3, error: "push: no response (TimeoutError)", error_kind: "push" });
  const { state, gone } = afterPush(failed, ENV, ROWS, 2, outcome(200, { receipt }), NOW);
  assert.deepEqual(gone, [17, 18]);
  assert.equal(state.dropped.too_old, 1);
  assert.equal(state.dropped.unknown_target, 2);
  assert.equal(state.push.fails, 0);
  assert.deepEqual([state.push.error, state.push.error_kind], [null, null]);
  assert.equal(state.push.next_at, Date.UTC(2026, 10, 21, 11, 17));
});

test("a backlog continues with the next cron", () => {
  const receipt = { ok: true, accepted: [17, 18], refused: [], unknown_targets: [] };
  const { state } = afterPush(stateWith(), ENV, ROWS, 40, outcome(200, { receipt }), NOW);
  assert.equal(state.push.next_at, NOW);
});

// rule W7
test("a rejected key stops pushes for an hour, or until the next upload", () => {
  const { state, gone } = afterPush(stateWith(), ENV, ROWS, 2, outcome(401), NOW);
  assert.deepEqual(gone, []);
  assert.match(String(state.push.error), /401/);
  assert.equal(state.push.error_kind, "push");
  assert.equal(pushDue(state, "i2", NOW + HOUR_MS - 1), "no");
  assert.equal(pushDue(state, "i2", NOW + HOUR_MS), "now");
  assert.equal(pushDue(state, "i3", NOW + 1), "now");
});

test("a push that is too large is halved down to one part, and a single part that is too large is dropped", () => {
  const { state } = afterPush(stateWith(), ENV, ROWS, 2, outcome(413), NOW);
  assert.equal(state.push.most_parts, 1);
  assert.equal(state.push.next_at, NOW);
  const alone = afterPush(state, ENV, ROWS.slice(0, 1), 2, outcome(413), NOW);
  assert.deepEqual(alone.gone, [17]);
  assert.equal(alone.state.dropped.invalid, 1);
});

test("failures are retried with increasing delay, and never before Retry-After", () => {
  let state = stateWith();
  const delays = [];
  for (let i = 0; i < 8; i += 1) {
    ({ state } = afterPush(state, ENV, ROWS, 2, outcome(0), NOW));
    delays.push((state.push.next_at - NOW) / MINUTE_MS);
  }
  assert.deepEqual(delays, [2, 4, 8, 16, 32, 60, 60, 60]);
  const asked = afterPush(stateWith(), ENV, ROWS, 2, outcome(503, { retryAfterS: 900 }), NOW);
  assert.equal(asked.state.push.next_at, NOW + 15 * MINUTE_MS);
});

test("a response that is not the service's acknowledges nothing", () => {
  for (const text of [
    "",
    "<html>",
    "null",
    '{"ok":true}',
    '{"ok":true,"accepted":["17"],"refused":[]}',
    '{"ok":false,"accepted":[],"refused":[]}',
  ]) {
    assert.equal(readReceipt(text), null, text);
  }
  assert.deepEqual(readReceipt('{"ok":true,"accepted":[1],"refused":[]}'), {
    ok: true,
    accepted: [1],
    refused: [],
    unknown_targets: [],
  });
});
