/**
 * Measures the CPU time of a cron run. `node tools/cron_cpu.js WORK` prints milliseconds; WORK is fold, close, push,
 * month (a step of a month with many targets) or large (a step of a target with large days).
 *
 * Runs the Worker's own code in an engine that has not compiled anything yet. The database is a real SQLite database.
 * As on the platform, the time spent in the database is excluded, but the client's conversion of values to and from
 * JSON is included. This program does not use the whole runtime, because a run could then be measured only together
 * with the emulated edge.
 */

import { Database, cpuMs } from "./database.js";
import { tick } from "../src/cron.js";
import { closeLine, encodeEvent, firstIdAt, newWriteName } from "../src/event_log.js";
import { newMonths } from "../src/months.js";
import { DAY_MS, HOUR_MS, MINUTE_MS, dayOf, firstDayOf, hourOf, monthOf } from "../src/time.js";

const NOW = 20_000 * DAY_MS + 10 * HOUR_MS + 4 * MINUTE_MS;
const ENV = { PUSH_URL: "http://service/push", WORKER_KEY: "key", BUNDLE: "b", INSTALL: "i", PUSH_SECOND: "240" };
// The events of one hour if the free plan's daily number of requests is spread evenly. They belong to many targets with
// large breakdowns.
const EVENTS = 4_200;
const TARGETS = 1_000;
const KEYS = 60;

const database = new Database();
const { sqlite } = database;

/** @param {number} number */
const targetOf = (number) => `lnk_${String(number).padStart(20, "0")}`;

/** @param {number} at epoch ms @param {number} number */
const event = (at, number) => {
  const line = encodeEvent(
    {
      target: targetOf((number * 7) % TARGETS),
      hour: hourOf(at),
      reason: "",
      page: `/blog/an-article-${number % 50}`,
      source: `site${number % 70}.example`,
      country: ["DE", "FR", "US"][number % 3] ?? "",
      device: ["mobile", "desktop"][number % 2] ?? "",
      browser: ["Chrome", "Safari", "Firefox"][number % 3] ?? "",
      os: ["Windows", "iOS", "Android"][number % 3] ?? "",
      campaign: number % 2 === 0 ? `newsletter-${number % 30}` : "",
      served: "",
    },
    true,
  );
  return closeLine(line, `v${String(number % 2_000).padStart(7, "0")}`);
};

function fillDays() {
  /** @param {string} name */
  const keys = (name) => Object.fromEntries(Array.from({ length: KEYS }, (_, i) => [`${name}${i}`, 3]));
  const totals = JSON.stringify({
    views: 180,
    pages: keys("/blog/an-article-"),
    sources: keys("site"),
    countries: { DE: 180 },
    devices: { mobile: 180 },
    browsers: { Chrome: 180 },
    os: { Android: 180 },
    bots: {},
    campaigns: keys("newsletter-"),
    entries: keys("/blog/an-article-"),
    arrivals: keys("site7.example /blog/an-article-"),
    targets: {},
  });
  const insert = sqlite.prepare("insert into day(target, day, totals) values (?, ?, ?)");
  for (let n = 0; n < TARGETS; n += 1) insert.run(targetOf(n), dayOf(NOW), totals);
}

function fillEventLog() {
  const insert = sqlite.prepare("insert into event_log(id, lines, writes) values (?, ?, ?)");
  for (let minute = 0; minute < 60; minute += 1) {
    const at = NOW - HOUR_MS - 4 * MINUTE_MS + minute * MINUTE_MS;
    const lines = Array.from({ length: EVENTS / 60 }, (_, i) => event(at, minute * 70 + i)).join("");
    insert.run(firstIdAt(at), lines, newWriteName());
  }
}

function fillOutbox() {
  const rows = Array.from({ length: 220 }, (_, n) => [targetOf(n), 900, 10, 700]);
  const day = new Date(NOW).toISOString().slice(0, 10);
  const part = { day, as_of: NOW, final: false, hours: [], refused_hours: [], days: rows };
  const insert = sqlite.prepare("insert into outbox(id, made_at, part) values (?, ?, ?)");
  for (let id = 1; id <= 40; id += 1) insert.run(id, NOW, JSON.stringify(part));
}

/** Accepts a push in place of the service. @param {unknown} _ @param {RequestInit} [init] */
async function acceptPush(_, init) {
  const ids = [...String(init?.body).matchAll(/\{"id":(\d+),/g)].map(([, id]) => Number(id));
  return new Response(JSON.stringify({ ok: true, accepted: ids, refused: [], unknown_targets: [] }));
}

/** @param {Record<string, unknown>} more */
function setState(more) {
  const state = {
    sorted: 0,
    hour: hourOf(NOW),
    day: dayOf(NOW) - 1,
    as_of: NOW,
    push: { install: "i", tried: "i", next_at: NOW + HOUR_MS, fails: 0, most_parts: 20, error: null },
    ...more,
  };
  sqlite.prepare("update meta set value = ? where key = 'state'").run(JSON.stringify(state));
}

/** A month that has ended, and its first day. */
const MONTH = monthOf(dayOf(NOW)) - 1;
const FIRST = firstDayOf(MONTH);

/**
 * Stores a month of days.
 * @param {number} targets @param {number} keys of each list, half of which change from day to day
 */
function fillMonth(targets, keys) {
  const insert = sqlite.prepare("insert into day(target, day, totals) values (?, ?, ?)");
  for (let day = FIRST; day < firstDayOf(MONTH + 1); day += 1) {
    /** @param {string} name */
    const list = (name) =>
      Object.fromEntries(Array.from({ length: keys }, (_, i) => [`${name}${i % 2 === 0 ? i : i + day}`, 3]));
    const names = ["pages", "sources", "countries", "devices", "browsers", "os", "bots"];
    const lists = Object.fromEntries(names.map((name) => [name, list(name.slice(0, 2))]));
    const visits = { campaigns: list("ca"), entries: list("/en"), arrivals: list("s.example /"), targets: {} };
    const totals = JSON.stringify({ views: 90, visitors: 50, ...lists, ...visits });
    for (let n = 0; n < targets; n += 1) insert.run(targetOf(n), day, totals);
  }
  setState({ months: newMonths(FIRST) });
}

/** @type {Record<string, () => number>} functions that prepare the data for a run and return the time of the run */
const WORK = {
  fold() {
    setState({ hour: hourOf(NOW) - 1 });
    fillDays();
    fillEventLog();
    return NOW;
  },
  close() {
    const day = dayOf(NOW);
    setState({ hour: hourOf(NOW) + 13, dirty: [day * 24 + 23] });
    fillDays();
    const insert = sqlite.prepare(
      'insert into hour(target, day, hour, views, bots, visitors) values (?, ?, ?, 4, 0, \'["v1","v2","v3","v4"]\')',
    );
    for (let n = 0; n < TARGETS; n += 1) {
      for (let hour = 0; hour < 24; hour += 1) insert.run(targetOf(n), day, hour);
    }
    return (day + 1) * DAY_MS + 12 * MINUTE_MS;
  },
  month() {
    fillMonth(TARGETS, 1);
    return NOW;
  },
  large() {
    fillMonth(2, 170);
    return NOW;
  },
  push() {
    const state = { install: "i", tried: "i", next_at: NOW, fails: 0, most_parts: 20, error: null };
    setState({ push: state });
    fillOutbox();
    return NOW;
  },
};

const [, , name = ""] = process.argv;
const now = /** @type {() => number} */ (WORK[name])();
globalThis.fetch = acceptPush;
// Node compiles these functions when they are first used. On the platform, they are part of the runtime, so their
// compilation is not measured.
await (await fetch("", { signal: AbortSignal.timeout(1) })).text();
globalThis.gc?.();
database.sqlMs = 0;
const began = cpuMs();
await tick(database.d1, ENV, now);
console.log((cpuMs() - began - database.sqlMs).toFixed(2));
