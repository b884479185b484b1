import assert from "node:assert/strict";
import { test } from "node:test";

import { grouped, isStateChange, latest } from "../src/event-groups.js";

/**
 * @param {import("../src/wire").NamedEvent["action"]} action @param {string} at @param {string} [outcome]
 * @param {string} [target]
 */
const event = (action, at, outcome = "done", target = "acc_a") => ({
  id: `${action} ${at} ${target}`,
  at: `2026-11-24T${at}.000Z`,
  via: "service",
  ip: null,
  edge_account_id: null,
  action,
  target,
  outcome,
  count: 1,
});

/** @param {import("../src/event-groups.js").Group[]} groups */
const brief = (groups) => groups.map(({ event: { action }, changes }) => [action, changes.map((one) => one.outcome)]);

test("a connect operation is one entry with its status changes, newest first", () => {
  const groups = grouped([
    event("site.create", "10:20:00", "accepted", "site_a"),
    event("account.state", "10:15:00", "ready"),
    event("account.state", "10:00:09", "installing", "acc_b"),
    event("account.state", "10:00:02", "installing"),
    event("account.connect", "10:00:01", "accepted"),
    event("account.state", "10:00:01", "pending"),
    event("session.begin", "09:59:00"),
  ]);
  assert.deepEqual(brief(groups), [
    ["site.create", []],
    ["account.state", []],
    ["account.connect", ["ready", "installing", "pending"]],
    ["session.begin", []],
  ]);
  assert.equal(latest(/** @type {any} */ (groups[2])).outcome, "ready");
  assert.deepEqual(groups.map(isStateChange), [false, true, false, false]);
});

test("a status change long after an operation, or of another account, stands alone", () => {
  const groups = grouped([
    event("account.state", "10:45:00", "no_connection"),
    event("account.state", "10:10:00", "ready"),
    event("account.renew", "10:09:00", "accepted"),
    event("account.state", "10:08:00", "permission_error"),
    event("account.connect", "10:00:00", "accepted", "acc_b"),
  ]);
  assert.deepEqual(brief(groups), [
    ["account.state", []],
    ["account.renew", ["ready"]],
    ["account.state", []],
    ["account.connect", []],
  ]);
});

test("each status change belongs to the operation before it, and no event is lost", () => {
  const events = [
    event("account.state", "10:05:00", "ready"),
    event("account.install", "10:04:00", "accepted"),
    event("account.state", "10:01:00", "connected"),
    event("account.connect", "10:00:00", "accepted"),
  ];
  const groups = grouped(events);
  assert.deepEqual(brief(groups), [
    ["account.install", ["ready"]],
    ["account.connect", ["connected"]],
  ]);
  assert.equal(groups.flatMap((group) => [group.event, ...group.changes]).length, events.length);
  assert.deepEqual(grouped([]), []);
});
