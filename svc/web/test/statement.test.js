import assert from "node:assert/strict";
import { test } from "node:test";

import { summary } from "../src/statement.js";

/** @param {number} views @param {number} [bots] */
const events = (views, bots = 0) => ({ views, bots });

/** @param {Partial<import("../src/wire").DayStatement>} changes */
const statement = (changes) => ({
  id: "site_a",
  day: "2026-11-24",
  closed: false,
  accepted: events(14, 4),
  dropped: {},
  waiting: events(0),
  counted: events(14, 4),
  queued: events(0),
  pushed: events(14, 4),
  stored: events(14, 4),
  agrees: true,
  fault: null,
  off_by: null,
  ...changes,
});

test("numbers include bots, and equal numbers agree", () => {
  const found = summary(statement({}));
  assert.deepEqual(found, { arrived: 18, counted: 18, stored: 18, dropped: 0, verdict: "agrees" });
});

test("events that are not counted or sent yet are open, not wrong", () => {
  const waiting = statement({ counted: events(10, 4), stored: events(10, 4), pushed: events(10, 4) });
  assert.deepEqual(summary(waiting), { arrived: 18, counted: 14, stored: 14, dropped: 0, verdict: "open" });
  assert.equal(summary(statement({ stored: events(3) })).verdict, "open");
});

test("dropped events are shown, and a difference outweighs everything else", () => {
  const dropped = statement({ dropped: { busy: 2, too_old: 1 }, counted: events(11, 4), stored: events(11, 4) });
  assert.deepEqual(summary(dropped), { arrived: 18, counted: 15, stored: 15, dropped: 3, verdict: "lost" });
  assert.equal(summary({ ...dropped, agrees: false }).verdict, "differs");
  assert.equal(summary(statement({ stored: events(19, 4), agrees: false })).verdict, "differs");
});

test("a day whose totals the worker has deleted is compared by what was accepted", () => {
  const old = statement({ counted: null, dropped: { busy: 1 }, stored: events(13, 4) });
  assert.deepEqual(summary(old), { arrived: 18, counted: 17, stored: 17, dropped: 1, verdict: "lost" });
});
