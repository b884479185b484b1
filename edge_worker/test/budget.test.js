import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { tick } from "../src/cron.js";
import { closeLine, encodeEvent, firstIdAt, newWriteName } from "../src/event_log.js";
import { DAY_MS, HOUR_MS, MINUTE_MS, dayOf, hourOf } from "../src/time.js";
import { Database } from "../tools/database.js";

const DAY = 20_000;
const ROWS_PER_DAY = 100_000;
const ENV = { PUSH_URL: "http://svc.example/", WORKER_KEY: "k", BUNDLE: "b", INSTALL: "i", PUSH_SECOND: "420" };

/** Number of writes of one busy isolate per minute, by level. */
const WRITES = [24, 10, 4.6, 2.9];

/** @typedef {import("../src/state.js").State} State */
/** @typedef {[target: string, views: number, bots: number, visitors: number]} Row */
/** @typedef {{id: number, final: boolean, refused_hours: number[], hours: {at: number}[], days: Row[]}} Part */

const { fetch } = globalThis;
/** @type {Part[]} */
let parts = [];

beforeEach(() => {
  parts = [];
  globalThis.fetch = async (_, init) => {
    const pushed = /** @type {Part[]} */ (JSON.parse(String(init?.body)).parts);
    parts.push(...pushed);
    return new Response(
      JSON.stringify({ ok: true, accepted: pushed.map(({ id }) => id), refused: [], unknown_targets: [] }),
    );
  };
});

afterEach(() => {
  globalThis.fetch = fetch;
});

/** An account with one busy isolate, whose database counts the rows that are written. */
class Account {
  database = new Database();
  /** Accepted events by day. @type {Map<number, number>} */
  accepted = new Map();
  /** Visitors by target and day. @type {Map<string, Set<number>>} */
  visitors = new Map();
  appended = 0;
  #carry = 0;
  #seed = 1;

  /** @returns {State} */
  get state() {
    return JSON.parse(this.database.run("select value from meta where key = 'state'")[0].value);
  }

  /** @param {Partial<State>} changes */
  setState(changes) {
    this.database.run("update meta set value = ? where key = 'state'", [JSON.stringify({ ...this.state, ...changes })]);
  }

  /** Sets the number of rows that the Worker has written on a day. @param {number} day @param {number} rows */
  setWritten(day, rows) {
    this.setState({ written: { day, rows } });
  }

  /** Number of rows written so far. */
  get rows() {
    return this.database.run("select total_changes() as n")[0].n + this.appended;
  }

  /** @param {number} below @returns {number} a repeatable random number */
  #random(below) {
    this.#seed = (Math.imul(this.#seed, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.#seed / 2 ** 32) * below);
  }

  /**
   * Writes `n` clicks by different visitors on random links.
   * @param {number} at epoch ms of the write @param {number} n @param {number} links
   * @param {number} [happened] epoch ms of the clicks
   */
  click(at, n, links, happened = at) {
    const { level = 0, written } = /** @type {Partial<State>} */ (this.state);
    this.#carry += WRITES[written?.day === dayOf(at) ? level : 0] ?? 0;
    const writes = Math.max(1, Math.min(n, Math.floor(this.#carry)));
    this.#carry -= Math.floor(this.#carry);
    let lines = "";
    for (let i = 0; i < n; i += 1) {
      const target = `lnk_${String(this.#random(links)).padStart(16, "0")}`;
      const visitor = this.#random(1_000);
      lines += closeLine(encodeEvent(clickOn(target, happened), true), String(visitor).padStart(8, "0"));
      const key = `${target} ${dayOf(happened)}`;
      this.visitors.set(key, (this.visitors.get(key) ?? new Set()).add(visitor));
    }
    const names = Array.from({ length: writes }, newWriteName).join("");
    const insert = "insert into event_log(id, lines, writes) values (?, ?, ?)";
    this.database.run(insert, [firstIdAt(at), lines, names]);
    this.appended += writes - 1;
    this.accepted.set(dayOf(happened), (this.accepted.get(dayOf(happened)) ?? 0) + n);
  }

  /** Runs the cron job. @param {number} at epoch ms */
  run(at) {
    return tick(this.database.d1, ENV, at);
  }

  /**
   * Runs the cron job every minute until the day is closed.
   * @param {number} day @param {number} at epoch ms @returns {Promise<number>} epoch ms of the next run
   */
  async closeDay(day, at) {
    let now = at;
    for (; this.state.day < day; now += MINUTE_MS) {
      assert.ok(now < at + DAY_MS, `day ${day} is still open`);
      await this.run(now);
    }
    return now;
  }

  /** Checks the totals and visitors of a closed day. @param {number} day */
  checkTotals(day) {
    const rows = this.database.run("select target, totals from day where day = ?", [day]);
    const found = rows.map(({ target, totals }) => ({ target, ...JSON.parse(totals) }));
    const views = found.reduce((sum, { views: n }) => sum + n, 0);
    assert.equal(views, this.accepted.get(day), `views of day ${day - DAY}`);
    for (const { target, visitors } of found) {
      assert.equal(visitors, this.visitors.get(`${target} ${day}`)?.size, `visitors of ${target}`);
    }
  }
}

/** @param {string} target @param {number} at epoch ms @returns {import("../src/event_log.js").Event} */
const clickOn = (target, at) => ({
  target,
  hour: hourOf(at),
  reason: "",
  page: "",
  source: "example.com",
  country: "DE",
  device: "mobile",
  browser: "Safari",
  os: "iOS",
  campaign: "",
  served: "",
});

// rule W5, R7
test("the events of refused hours need few rows on the next day, and their hours are never sent", async () => {
  const account = new Account();
  const [links, clicks] = [2_000, 90_000];
  const start = DAY * DAY_MS;
  await account.run(start);
  account.setWritten(DAY, 60_000);
  for (let hour = 0; hour < 24; hour += 1) {
    for (let n = 0; n < 10; n += 1) account.click(start + hour * HOUR_MS + n * 6 * MINUTE_MS, clicks / 240, links);
    await account.run(start + (hour + 1) * HOUR_MS + 5 * MINUTE_MS);
  }
  const before = account.rows;
  let now = await account.closeDay(DAY, start + DAY_MS + 6 * MINUTE_MS);
  for (const end = now + 90 * MINUTE_MS; now < end; now += MINUTE_MS) await account.run(now);
  account.checkTotals(DAY);
  const rows = account.rows - before;
  assert.ok(rows < 10 * links, `${rows} rows`);
  assert.deepEqual(account.database.run("select * from hour"), []);
  const refused = new Set(parts.flatMap((part) => part.refused_hours));
  assert.equal(refused.size, 23);
  const sent = parts.flatMap((part) => part.hours.map(({ at }) => at));
  assert.deepEqual(
    [...refused].filter((at) => sent.includes(at)),
    [],
  );
  const finals = parts.filter(({ final }) => final).flatMap((part) => part.days);
  assert.equal(
    finals.reduce((sum, [, views]) => sum + views, 0),
    clicks,
  );
  assert.deepEqual(account.state.refused, []);
});

// rule W5
test("work for ended days stops at level 2, and the oldest day is closed first on the next day", async () => {
  const account = new Account();
  const midnight = (DAY + 1) * DAY_MS;
  await account.run(midnight - 2 * HOUR_MS);
  account.click(midnight - HOUR_MS, 50, 10);
  account.setWritten(DAY + 1, 80_000);
  for (let minute = 1; minute < 200; minute += 1) await account.run(midnight + minute * MINUTE_MS);
  account.click(midnight + 4 * HOUR_MS, 30, 10);
  for (let minute = 241; minute < 400; minute += 1) await account.run(midnight + minute * MINUTE_MS);
  assert.equal(account.state.day, DAY - 1);
  assert.equal(account.database.run("select count(*) as n from day")[0].n, 0);
  assert.ok(account.state.written.rows < 80_100, `${account.state.written.rows} rows`);

  const now = await account.closeDay(DAY, midnight + DAY_MS);
  assert.ok(now < midnight + DAY_MS + 10 * MINUTE_MS, "the day is closed as soon as its events are folded");
  await account.closeDay(DAY + 1, now);
  for (const day of [DAY, DAY + 1]) account.checkTotals(day);
  assert.equal(account.state.dropped.too_old, 0);
});

// rule W5
test("hours of a closed day are deleted as far as the write budget allows", async () => {
  const account = new Account();
  const midnight = (DAY + 1) * DAY_MS;
  await account.run(midnight - 2 * HOUR_MS);
  await account.run(midnight);
  account.database.run(
    "with recursive t(n) as (select 0 union all select n + 1 from t where n < 7199) insert into hour " +
      `select 'lnk_' || (n / 24), ${DAY}, n % 24, 1, 0, '[]' from t`,
  );
  const hours = () => account.database.run("select count(*) as n from hour")[0].n;
  account.setWritten(DAY + 1, 75_000);
  await account.run(await account.closeDay(DAY, midnight + 9 * MINUTE_MS));
  const { rows } = account.state.written;
  assert.ok(rows >= 80_000 && rows < 80_010, `${rows} rows`);
  const left = hours();
  assert.ok(left > 2_200 && left < 3_000, `${left} hours`);
  for (let minute = 20; minute < 60; minute += 1) await account.run(midnight + minute * MINUTE_MS);
  assert.equal(hours(), left);
  await account.run(midnight + DAY_MS);
  assert.equal(hours(), 0);
});

// rule W3
test("after an outage at midnight, a day stays open until isolates have written the events that they hold", async () => {
  const account = new Account();
  const midnight = (DAY + 1) * DAY_MS;
  account.click(midnight - 11 * MINUTE_MS, 2, 1);
  await account.run(midnight - 10 * MINUTE_MS);
  await account.run(midnight + 12 * MINUTE_MS);
  await account.run(midnight + 13 * MINUTE_MS);
  account.click(midnight + 14 * MINUTE_MS, 3, 1, midnight - 5 * MINUTE_MS);
  await account.closeDay(DAY, midnight + 15 * MINUTE_MS);
  account.checkTotals(DAY);
  assert.equal(account.accepted.get(DAY), 5);
});

/** `make test-all` sets this variable. The simulation takes about a minute. */
const EVERYTHING = "SVC_TEST_ALL" in process.env;

/** Simulates five days. @param {number} links @param {number} clicks per day */
async function simulate(links, clicks) {
  const account = new Account();
  for (let day = DAY; day < DAY + 5; day += 1) {
    const before = account.rows;
    for (let minute = 0; minute < 1_440; minute += 1) {
      const at = day * DAY_MS + minute * MINUTE_MS;
      const n = Math.floor((clicks * (minute + 1)) / 1_440) - Math.floor((clicks * minute) / 1_440);
      account.click(at, n, links);
      await account.run(at);
    }
    const rows = account.rows - before;
    assert.ok(rows < ROWS_PER_DAY, `${rows} rows on day ${day - DAY}, ${links} links, ${clicks} clicks`);
    assert.ok(account.state.day >= day - 1, `day ${day - DAY - 1} is still open`);
  }
  for (let day = DAY; day <= account.state.day; day += 1) account.checkTotals(day);
  assert.equal(account.state.dropped.too_old, 0);
}

// rule W5
test("busy accounts stay below the daily limit for days, and lose no event", { skip: !EVERYTHING }, async () => {
  await simulate(2_000, 90_000);
  await simulate(9_000, 60_000);
  await simulate(10_000, 98_000);
});
