/**
 * Simulates two years of many accounts, and compares their months with a plain count. `node tools/two_years.js ACCOUNTS
 * TARGETS` prints three numbers as JSON: the rows of months, the rows that differ, and the cron runs.
 *
 * The Worker's own code closes the days, adds up the months and deletes the days. Nothing is pushed.
 */

import { Database } from "./database.js";
import { tick } from "../src/cron.js";
import { newMonths } from "../src/months.js";
import { DAY_MS, MINUTE_MS, firstDayOf, monthOf } from "../src/time.js";

const MONTH = 2024 * 12;
const FIRST = firstDayOf(MONTH);
const END = firstDayOf(MONTH + 24);
const ENV = { PUSH_URL: "http://service/push", WORKER_KEY: "key", BUNDLE: "b", INSTALL: "i", PUSH_SECOND: "240" };
const LINK_LISTS = ["sources", "countries", "devices", "browsers", "os", "bots", "campaigns"];
const SITE_LISTS = [...LINK_LISTS, "pages", "entries", "arrivals"];
const MAX_STEPS = 30;

/** @param {number} seed @returns {() => number} numbers from 0 to 1 (mulberry32) */
function randomOf(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * @typedef {Record<string, number | Record<string, number>>} Totals
 * @param {() => number} random @param {boolean} isLink
 * @returns {Totals} totals of one day; the keys of a whole month fit into a row
 */
function dayOf(random, isLink) {
  const views = Math.floor(random() * 40);
  /** @type {Totals} */
  const totals = { views, visitors: Math.ceil(views / 2), entries: {}, arrivals: {}, targets: {} };
  for (const name of isLink ? LINK_LISTS : SITE_LISTS) {
    const keys = 1 + Math.floor(random() * 4);
    totals[name] = Object.fromEntries(
      Array.from({ length: keys }, (_, i) => [`${name[0]}${i}`, 1 + (views % (i + 2))]),
    );
  }
  return totals;
}

/** @param {Totals} sum updated in place @param {Totals} day */
function add(sum, day) {
  for (const [name, value] of Object.entries(day)) {
    if (typeof value === "number") {
      sum[name] = Number(sum[name] ?? 0) + value;
      continue;
    }
    // A row has no empty lists.
    for (const [key, n] of Object.entries(value)) {
      const list = /** @type {Record<string, number>} */ (sum[name] ??= {});
      list[key] = (list[key] ?? 0) + n;
    }
  }
}

/** @param {unknown} value @returns {string} JSON with sorted keys */
const sorted = (value) =>
  JSON.stringify(value, (_, each) =>
    typeof each === "object" && each !== null ? Object.fromEntries(Object.entries(each).sort()) : each,
  );

/**
 * @param {number} account @param {number} targets
 * @returns {Promise<{rows: number, different: number, runs: number}>}
 */
async function twoYears(account, targets) {
  const database = new Database();
  const random = randomOf(account + 1);
  const insert = database.sqlite.prepare("insert into day(target, day, totals) values (?, ?, ?)");
  const read = database.sqlite.prepare("select value from meta where key = 'state'");
  const state = () => JSON.parse(String(read.get()?.value));
  const push = { install: "i", tried: "i", next_at: 2 ** 50, fails: 0, most_parts: 20, error: null };
  const times = { day: FIRST - 1, hour: FIRST * 24, since: FIRST * DAY_MS, as_of: FIRST * DAY_MS };
  database.run("update meta set value = ? where key = 'state'", [
    JSON.stringify({ ...times, kept_from: 0, months: newMonths(FIRST), push }),
  ]);
  /** @type {Map<string, Totals>} */
  const sums = new Map();
  let runs = 0;
  /** @param {number} at epoch ms */
  const run = async (at) => {
    runs += 1;
    await tick(database.d1, ENV, at);
  };
  for (let day = FIRST; day < END; day += 1) {
    for (let n = 0; n < targets; n += 1) {
      if (random() < 0.1) continue; // a day without visitors
      const isLink = n % 2 === 1;
      const target = `${isLink ? "lnk" : "site"}_${String(n).padStart(20, "0")}`;
      const totals = dayOf(random, isLink);
      insert.run(target, day, JSON.stringify(totals));
      const key = `${monthOf(day)} ${target}`;
      const sum = sums.get(key) ?? { from: firstDayOf(monthOf(day)) };
      add(sum, totals);
      sums.set(key, sum);
    }
    await run((day + 1) * DAY_MS);
    const closedAt = (day + 1) * DAY_MS + 12 * MINUTE_MS;
    await run(closedAt);
    for (let step = 1; state().months.month < monthOf(day + 1); step += 1) {
      if (step > MAX_STEPS) throw new Error(`month ${monthOf(day)} of account ${account} is not added up`);
      await run(closedAt + step * 5 * MINUTE_MS);
    }
  }
  const rows = database.run("select month, target, totals from month");
  const same = rows.filter(({ month, target, totals }) => {
    return sorted(JSON.parse(totals)) === sorted(sums.get(`${month} ${target}`));
  });
  const kept = database.run("select count(distinct day) as n from day")[0].n;
  if (kept > 36) throw new Error(`account ${account} has ${kept} days`);
  return { rows: rows.length, different: Math.max(sums.size, rows.length) - same.length, runs };
}

const [, , accounts = "1", targets = "2"] = process.argv;
const all = { rows: 0, different: 0, runs: 0 };
for (let account = 0; account < Number(accounts); account += 1) {
  const found = await twoYears(account, Number(targets));
  all.rows += found.rows;
  all.different += found.different;
  all.runs += found.runs;
}
console.log(JSON.stringify(all));
