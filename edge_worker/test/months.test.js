import assert from "node:assert/strict";
import { test } from "node:test";

import { tick } from "../src/cron.js";
import { encodeSum, newMonths, withoutMonths } from "../src/months.js";
import { readState } from "../src/state.js";
import { DAY_MS, MINUTE_MS, firstDayOf, monthOf } from "../src/time.js";
import { Database } from "../tools/database.js";

// March 2026 has 31 days.
const MONTH = 2026 * 12 + 2;
const FIRST = firstDayOf(MONTH);
const NEXT = firstDayOf(MONTH + 1);
// Pushes fail, because no server listens on this port. These tests do not need pushes.
const ENV = { PUSH_URL: "http://127.0.0.1:9/", WORKER_KEY: "k", BUNDLE: "b", INSTALL: "i", PUSH_SECOND: "420" };
const LISTS = ["pages", "sources", "countries", "devices", "browsers", "os", "bots"];
const VISIT_LISTS = ["campaigns", "entries", "arrivals", "targets"];
const STEP_MS = 5 * MINUTE_MS;

/**
 * @typedef {Record<string, Record<string, number>>} Lists
 * @typedef {{views?: number, visitors?: number} & Record<string, any>} Totals
 * @typedef {{from: number, views: number, visitors: number, unlisted?: [number, number]} & Record<string, any>} Row
 */

/**
 * @param {{closed?: number, state?: Record<string, unknown>, first?: number}} [options] closed: the last closed day;
 *   first: the first day that the database counted
 */
function databaseOf({ closed = NEXT - 1, state = {}, first = FIRST } = {}) {
  const database = new Database();
  const times = { day: closed, hour: (closed + 1) * 24, since: first * DAY_MS, as_of: (closed + 1) * DAY_MS };
  const push = { install: "i", tried: "i", next_at: 2 ** 50, fails: 0, most_parts: 20, error: null };
  setState(database, { ...times, kept_from: 0, months: newMonths(first), push, ...state });
  return database;
}

/** @param {Database} database @param {Record<string, unknown>} state */
const setState = (database, state) =>
  database.run("update meta set value = ? where key = 'state'", [JSON.stringify(state)]);

/** @param {Database} database @returns {import("../src/state.js").State} */
const stateOf = (database) => JSON.parse(database.run("select value from meta where key = 'state'")[0].value);

/** @param {Database} database @param {string} target @param {number} day @param {unknown} totals */
const addDay = (database, target, day, totals) =>
  database.run("insert into day values (?, ?, ?)", [target, day, JSON.stringify(totals)]);

/** @param {Database} database @returns {Map<string, Row>} the rows of MONTH, by target */
const rowsOf = (database, month = MONTH) =>
  new Map(
    database
      .run("select target, totals from month where month = ?", [month])
      .map(({ target, totals }) => [target, JSON.parse(totals)]),
  );

/**
 * Runs the cron job every five minutes until all closed months are added up.
 * @param {Database} database
 * @param {number} [day] epoch day of the runs
 * @returns {Promise<number>} number of runs
 */
async function addUp(database, day = NEXT) {
  for (let runs = 1; runs < 500; runs += 1) {
    await tick(database.d1, ENV, day * DAY_MS + runs * STEP_MS);
    if (monthOf(stateOf(database).day + 1) <= stateOf(database).months.month) return runs;
  }
  throw new Error("the month was not added up");
}

/** @param {number} n @param {Lists} [lists] @returns {Totals} */
function totalsOf(n, lists = {}) {
  const known = Object.fromEntries([...LISTS, ...VISIT_LISTS].map((name) => [name, {}]));
  const client = { countries: { DE: n }, devices: { mobile: n }, browsers: { Chrome: n }, os: { Android: n } };
  return { views: n, visitors: Math.ceil(n / 2), ...known, pages: { "/": n }, sources: { "": n }, ...client, ...lists };
}

/** Sums up totals independently of the worker. @param {Totals[]} days @returns {Totals} without empty lists */
function plainSum(days) {
  /** @type {Totals} */
  const sum = { views: 0, visitors: 0 };
  for (const { views = 0, visitors = 0, ...lists } of days) {
    sum.views = (sum.views ?? 0) + views;
    sum.visitors = (sum.visitors ?? 0) + visitors;
    for (const [name, counts] of Object.entries(lists)) {
      for (const [key, n] of Object.entries(/** @type {Record<string, number>} */ (counts))) {
        sum[name] ??= {};
        sum[name][key] = (sum[name][key] ?? 0) + n;
      }
    }
  }
  return sum;
}

/** @param {Record<string, number>} counts */
const sumOf = (counts) => Object.values(counts).reduce((sum, n) => sum + n, 0);

/** @param {Database} database @param {number} targets @returns {Map<string, Totals[]>} the days of each target */
function fill(database, targets) {
  /** @type {Map<string, Totals[]>} */
  const days = new Map();
  for (let day = FIRST - 2; day < NEXT + 1; day += 1) {
    for (let n = 0; n < targets; n += 1) {
      if ((day * 7 + n) % 5 === 0) continue;
      const target = `${n % 2 === 0 ? "site" : "lnk"}_${String(n).padStart(3, "0")}`;
      const totals = totalsOf((day % 9) + n + 1, { bots: { list: n + 1 }, campaigns: { [`c${day % 3}`]: 1 } });
      addDay(database, target, day, totals);
      if (day >= FIRST && day < NEXT) days.set(target, [...(days.get(target) ?? []), totals]);
    }
  }
  return days;
}

/**
 * Stores days that are so small that a step can contain the maximum number of targets.
 * @param {Database} database @param {number} targets
 */
function fillWithSmallDays(database, targets) {
  for (let day = FIRST; day < NEXT; day += 1) {
    for (let n = 0; n < targets; n += 1) addDay(database, `lnk_${n}`, day, { views: 1, visitors: 1, entries: {} });
  }
}

// rule Y10
test("a closed month has one row per target with the sums of its days", async () => {
  const database = databaseOf({ first: FIRST - 60 });
  setState(database, { ...stateOf(database), months: newMonths(FIRST) });
  const days = fill(database, 21);
  const runs = await addUp(database);
  assert.ok(runs >= Math.ceil(21 / 8) + 1, `${runs} runs`);
  const rows = rowsOf(database);
  assert.deepEqual([...rows.keys()].sort(), [...days.keys()].sort());
  for (const [target, row] of rows) assert.deepEqual(row, { from: FIRST, ...plainSum(days.get(target) ?? []) }, target);
  assert.deepEqual(stateOf(database).months, { from: MONTH, month: MONTH + 1, target: "", day: null, first_days: {} });
  assert.equal(database.run("select count(*) as n from month")[0].n, days.size, "other months have no rows");
});

// rule Y10
test("a month is not added up before its last day is closed", async () => {
  const database = databaseOf({ closed: NEXT - 2 });
  fill(database, 2);
  for (let run = 1; run < 4; run += 1) await tick(database.d1, ENV, (NEXT - 1) * DAY_MS + run * STEP_MS);
  assert.equal(rowsOf(database).size, 0);
  assert.equal(stateOf(database).months.month, MONTH);
});

// rule Y10
test("a target whose days exceed a step is added in several steps and has an exact sum", async () => {
  const database = databaseOf();
  const days = Array.from({ length: 31 }, (_, i) =>
    totalsOf(3 + i, { pages: { [`/${"x".repeat(190)}`]: 1, "/": 2 + i }, sources: { ["s".repeat(9_000)]: 1, "": i } }),
  );
  for (const [i, totals] of days.entries()) addDay(database, "site_large", FIRST + i, totals);
  addDay(database, "site_next", FIRST, totalsOf(1));
  addDay(database, "site_before", FIRST, totalsOf(1));
  await addUp(database);
  const expected = plainSum(days);
  const row = rowsOf(database).get("site_large");
  // The source "sss…" is too long for the list, so it is counted under "(other)".
  const { [`${"s".repeat(9_000)}`]: other, ...sources } = expected.sources;
  assert.deepEqual(row, { from: FIRST, ...expected, sources: { ...sources, "(other)": other } });
  assert.equal(rowsOf(database).get("site_next")?.views, 1);
  // The number of written rows shows that more than one step was necessary, and that complete targets were written
  // once.
  assert.ok(stateOf(database).written.rows >= 3 + 5, `${stateOf(database).written.rows} rows`);
});

// rule Y10, W6
test("a row keeps the largest keys within its limits, and the sums of its lists are exact", async () => {
  const hostile = ['"', "\\", "\u0001", "日本語", "\ud800", "__proto__", "constructor", "(other)", "😀", ""];
  for (const [target, limit] of /** @type {[string, number][]} */ ([
    ["site_0123456789abcdefghij", 8_600],
    ["lnk_0123456789abcdefghij", 950],
  ])) {
    const database = databaseOf();
    const days = Array.from({ length: 31 }, (_, day) => {
      /** @param {number} size @param {number} length @returns {Record<string, number>} */
      const keys = (size, length) =>
        Object.fromEntries(
          Array.from({ length: size }, (_, i) => {
            const key = (hostile[i % hostile.length] ?? "").repeat(length % 5) + `k${i + day * 3}`.padEnd(length, "y");
            return [key, 1_000_000 + i];
          }),
        );
      const lists = Object.fromEntries([...LISTS, ...VISIT_LISTS].map((name, i) => [name, keys(40, 20 + 4 * i)]));
      for (const key of hostile) lists.pages = { ...lists.pages, ...JSON.parse(`{${JSON.stringify(key)}: 9}`) };
      return { ...totalsOf(5, lists), sources: { ...keys(30, 12), "popular.example": 50_000_000 } };
    });
    for (const [i, totals] of days.entries()) addDay(database, target, FIRST + i, totals);
    await addUp(database);
    const [{ totals, bytes }] = database.run("select totals, length(cast(totals as blob)) as bytes from month");
    assert.ok(bytes <= limit && bytes > 0.6 * limit, `${bytes} of ${limit} bytes`);
    const row = JSON.parse(totals);
    const expected = plainSum(days);
    for (const name of [...LISTS, ...VISIT_LISTS]) {
      const all = days.reduce((sum, each) => sum + sumOf(/** @type {any} */ (each)[name]), 0);
      assert.equal(sumOf(row[name]), all, name);
      for (const [key, n] of Object.entries(row[name])) {
        if (key !== "(other)") assert.ok(n <= expected[name][key], `${name} ${key}`);
      }
    }
    assert.equal(row.sources["popular.example"], 31 * 50_000_000);
  }
});

// rule Y10
test("a row that is too large keeps a link's page and its clicks outside of its period", async () => {
  const database = databaseOf();
  const keys = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`a-long-source-${i}.example`, 9]));
  const targets = Object.fromEntries(
    Array.from({ length: 8 }, (_, i) => [`https://shop.example/${"y".repeat(40)}/${i}`, 9]),
  );
  const lists = { pages: { "": 1_000_000 }, sources: keys, campaigns: keys, targets, outside: { before: 2, after: 3 } };
  addDay(database, "lnk_0123456789abcdefghij", FIRST, totalsOf(5, lists));
  await addUp(database);
  const [{ totals, bytes }] = database.run("select totals, length(cast(totals as blob)) as bytes from month");
  assert.ok(bytes <= 950, `${bytes} bytes`);
  const row = JSON.parse(totals);
  assert.ok(row.targets["(other)"] > 0);
  assert.deepEqual([row.pages, row.outside], [{ "": 1_000_000 }, { before: 2, after: 3 }]);
});

// rule Y10
test("a large count of (other) does not displace a key from a row", async () => {
  const database = databaseOf();
  addDay(database, "lnk_0123456789abcdefghij", FIRST, totalsOf(13, { pages: { "": 5, "(other)": 8 } }));
  await addUp(database);
  const [{ totals }] = database.run("select totals from month");
  assert.deepEqual(JSON.parse(totals).pages, { "": 5, "(other)": 8 });
});

// rule Y10
test("a run that crashes at any call, or loses a response, adds each day once", async () => {
  const undisturbed = databaseOf();
  const days = fill(undisturbed, 11);
  await addUp(undisturbed);
  for (const lost of [false, true]) {
    const database = databaseOf();
    fill(database, 11);
    const { d1 } = database;
    let calls = 0;
    const failing = /** @type {D1Database} */ ({
      ...d1,
      batch: async (statements) => {
        calls += 1;
        if (calls % 3 !== 0) return d1.batch(statements);
        if (lost) await d1.batch(statements);
        throw new Error("Network connection lost.");
      },
    });
    for (let run = 1; run < 40; run += 1) {
      await tick(failing, ENV, NEXT * DAY_MS + run * STEP_MS).catch(() => undefined);
    }
    await addUp(database);
    assert.ok(calls > 20);
    assert.deepEqual(rowsOf(database), rowsOf(undisturbed));
  }
  assert.equal(rowsOf(undisturbed).size, days.size);
});

// rule Y10
test("concurrent runs add each day once", async () => {
  const database = databaseOf();
  const days = fill(database, 20);
  for (let run = 1; run < 20; run += 1) {
    const at = NEXT * DAY_MS + run * STEP_MS;
    await Promise.all([tick(database.d1, ENV, at), tick(database.d1, ENV, at), tick(database.d1, ENV, at)]);
  }
  await addUp(database);
  for (const [target, row] of rowsOf(database)) {
    assert.deepEqual(row, { from: FIRST, ...plainSum(days.get(target) ?? []) });
  }
});

// rule Y10, X7
test("after an update in the middle of a month, its rows contain each of its days once", async () => {
  const old = { kept_from: FIRST - 5, since: (FIRST - 90) * DAY_MS };
  const database = databaseOf({ closed: FIRST + 14, state: { ...old, months: undefined } });
  const days = fill(database, 3);
  await tick(database.d1, ENV, (FIRST + 15) * DAY_MS + 9 * 60 * MINUTE_MS);
  const { months } = stateOf(database);
  // February is added up from its first remaining day.
  const february = { [MONTH - 1]: FIRST - 5 };
  assert.deepEqual([months.from, months.month, months.first_days], [MONTH - 1, MONTH - 1, february]);
  await addUp(database, FIRST + 16);
  for (const row of rowsOf(database, MONTH - 1).values()) assert.equal(row.from, FIRST - 5);
  setState(database, { ...stateOf(database), day: NEXT - 1, hour: NEXT * 24 });
  await addUp(database);
  for (const [target, row] of rowsOf(database)) {
    assert.deepEqual(row, { from: FIRST, ...plainSum(days.get(target) ?? []) });
  }
});

// rule X7
test("the first month of an older worker's database begins with the first day that can be stored", () => {
  /** @param {Record<string, unknown>} stored */
  const monthsOf = (stored) => readState(JSON.stringify(stored), NEXT * DAY_MS).months;
  assert.deepEqual(monthsOf({}), newMonths(NEXT));
  const oldest = { ...newMonths(NEXT - 36), first_days: { [MONTH - 1]: NEXT - 36 } };
  assert.deepEqual(monthsOf({ day: NEXT - 1 }), oldest);
  assert.deepEqual(monthsOf({ day: NEXT - 1, since: 0 }), oldest);
  assert.deepEqual(monthsOf({ day: NEXT - 1, since: (FIRST + 3) * DAY_MS }), newMonths(FIRST + 3));
  const partial = { ...newMonths(FIRST), first_days: { [MONTH]: FIRST + 1 } };
  assert.deepEqual(monthsOf({ day: NEXT - 1, since: 0, kept_from: FIRST + 1 }), partial);
  // After a rollback, an older worker has deleted days that were not added up.
  const months = { ...newMonths(FIRST - 10), target: "site_a", day: FIRST - 5 };
  const rolledBack = monthsOf({ day: NEXT + 30, kept_from: FIRST + 2, months });
  const first_days = { [MONTH - 1]: FIRST, [MONTH]: FIRST + 2 };
  assert.deepEqual(rolledBack, { ...months, day: 0, first_days });
  const continued = { ...rolledBack, day: FIRST + 3 };
  assert.deepEqual(monthsOf({ day: NEXT + 30, kept_from: FIRST + 2, months: continued }), continued);
});

// rule Y10
test("a row names the days that an older worker counted without the newer lists", async () => {
  const database = databaseOf();
  for (let day = 0; day < 31; day += 1) {
    const { campaigns, entries, arrivals, targets, ...older } = totalsOf(2);
    addDay(database, "site_older", FIRST + day, older);
    addDay(
      database,
      "site_updated",
      FIRST + day,
      day < 10 ? older : { ...older, campaigns, entries, arrivals, targets },
    );
    addDay(database, "site_newer", FIRST + day, totalsOf(2));
  }
  await addUp(database);
  const rows = rowsOf(database);
  assert.deepEqual(
    ["site_older", "site_updated", "site_newer"].map((target) => rows.get(target)?.unlisted),
    [[FIRST, NEXT - 1], [FIRST, FIRST + 9], undefined],
  );
});

// rule W5
test("a step writes at most nine rows, and none once half of the day's rows are used", async () => {
  const database = databaseOf();
  fillWithSmallDays(database, 40);
  const writtenOf = () => stateOf(database).written.rows;
  await tick(database.d1, ENV, NEXT * DAY_MS + STEP_MS);
  assert.equal(writtenOf(), 9);
  setState(database, { ...stateOf(database), written: { day: NEXT, rows: 50_000 } });
  for (let run = 2; run < 6; run += 1) await tick(database.d1, ENV, NEXT * DAY_MS + run * STEP_MS);
  assert.equal(rowsOf(database).size, 8);
  assert.equal(writtenOf(), 50_004, "each run is still recorded");
  // The first two of these runs close the hour and the day.
  for (let run = 1; run < 4; run += 1) await tick(database.d1, ENV, (NEXT + 1) * DAY_MS + run * STEP_MS);
  assert.equal(rowsOf(database).size, 16, "continues on the next day");
});

// rule W5
test("runs within five minutes add up one step", async () => {
  const database = databaseOf();
  fillWithSmallDays(database, 40);
  for (let minute = 5; minute < 15; minute += 1) await tick(database.d1, ENV, NEXT * DAY_MS + minute * MINUTE_MS);
  assert.equal(rowsOf(database).size, 16);
});

// rule X5
test("rows that another program wrote do not stop the sums", async () => {
  const database = databaseOf();
  const rows = /** @type {[any, any, any][]} */ ([
    [null, FIRST, "{}"],
    [Buffer.from("zz"), FIRST, '{"views":1}'],
    ["site_a", FIRST + 0.5, '{"views":1}'],
    ["site_a", "x", '{"views":1}'],
    ["site_a", FIRST + 1, ""],
    ["site_a", FIRST + 2, "{"],
    ["site_a", FIRST + 3, "null"],
    ["site_a", FIRST + 4, "[1]"],
    ["site_a", FIRST + 5, '{"views":"5","pages":7,"sources":{"a":"1","b":null},"os":null,"entries":{}}'],
    ["site_a", FIRST + 6, JSON.stringify(totalsOf(4))],
  ]);
  for (const [target, day, totals] of rows) {
    database.run("insert or ignore into day values (?, ?, ?)", [target, day, totals]);
  }
  database.run("insert into month values (?, 'site_a', 'x')", [MONTH]);
  await addUp(database);
  const row = rowsOf(database).get("site_a");
  assert.deepEqual([row?.views, row?.pages, row?.os], [4, { "/": 4 }, { Android: 4 }]);
  assert.equal(rowsOf(database).size, 1);
});

// rule Y10
test("a year of 100 sites and 1,000 links at their limits takes less than 30 MB", () => {
  const database = new Database();
  const sizeOf = () => database.run("select page_count * page_size as n from pragma_page_count, pragma_page_size")[0].n;
  const before = sizeOf();
  /** @param {string} name */
  const list = (name) => new Map(Array.from({ length: 500 }, (_, i) => [`/${name}/${i}`, 1_000_000 - i]));
  const lists = Object.fromEntries([...LISTS, ...VISIT_LISTS].map((name) => [name, list(name)]));
  const sum = { from: FIRST, views: 9_999_999, visitors: 9_999_999, lists, unlisted: null, listed: true };
  const rows = ["lnk", "site"].map((kind) => encodeSum(sum, `${kind}_`, false));
  for (let month = MONTH; month < MONTH + 12; month += 1) {
    for (const [i, count] of [1_000, 100].entries()) {
      // Ids have 20 characters after their prefix.
      const target = `${["lnk", "site"][i]}_' || printf('%020d', n)`;
      database.run(
        `with recursive t(n) as (select 1 union all select n + 1 from t where n < ${count}) ` +
          `insert into month select ${month}, '${target}, ? from t`,
        [rows[i] ?? ""],
      );
    }
  }
  const mb = (sizeOf() - before) / 1e6;
  console.log(`a year of months: ${mb.toFixed(1)} MB`);
  assert.ok(mb > 15 && mb < 30, `${mb} MB`);
});

/** @param {Database} database @returns {number[]} */
const storedDays = (database) => database.run("select distinct day from day order by day").map(({ day }) => day);

/**
 * Records that the first run after the next day has been successful, as on most nights.
 * @param {Database} database @returns {number} epoch ms: the end of the next day
 */
function recordDayEnd(database) {
  const end = (stateOf(database).day + 2) * DAY_MS;
  database.run("update meta set value = json_set(value, '$.day_ended_at', ?) where key = 'state'", [end]);
  return end;
}

/** Closes the next day. @param {Database} database @param {D1Database} [d1] */
const closeNextDay = (database, d1 = database.d1) => tick(d1, ENV, recordDayEnd(database) + 12 * MINUTE_MS);

// rule W5, Y10
test("a day is deleted only once it is old enough and its month is added up", async () => {
  const database = databaseOf({ closed: NEXT - 3 });
  database.run("insert into config values ('days_kept', 1, '{\"days\":14}')");
  for (let day = FIRST; day < NEXT + 60; day += 1) addDay(database, "site_a", day, totalsOf(1));
  for (let nights = 0; nights < 4; nights += 1) await closeNextDay(database);
  assert.deepEqual([storedDays(database)[0], stateOf(database).kept_from], [FIRST, 0]);
  assert.deepEqual([...rowsOf(database)], []);
  await addUp(database, stateOf(database).day + 1);
  await closeNextDay(database);
  assert.deepEqual([storedDays(database)[0], stateOf(database).kept_from], [FIRST + 2, FIRST + 2]);
  for (let nights = 0; nights < 40; nights += 1) await closeNextDay(database);
  assert.equal(storedDays(database)[0], NEXT, "April is not added up");
  assert.equal(rowsOf(database).get("site_a")?.views, 31);
});

/** @param {D1Database} d1 @param {number} size @returns {D1Database} a database of this size in bytes */
const ofSize = (d1, size) =>
  /** @type {D1Database} */ ({
    ...d1,
    batch: async (statements) =>
      (await d1.batch(statements)).map((result) => ({ ...result, meta: { ...result.meta, size_after: size } })),
  });

// rule W5, Y10
test("in a nearly full database, days do not wait for their month, and its rows name their first day", async () => {
  for (const [size, deleted] of /** @type {[number, number][]} */ ([
    [480e6, 0],
    [495e6, 2],
    [600e6, 0],
    [9.9e9, 2],
  ])) {
    const database = databaseOf({ closed: NEXT - 3 });
    database.run("insert into config values ('days_kept', 1, '{\"days\":14}')");
    for (let day = FIRST; day < NEXT; day += 1) addDay(database, "site_a", day, totalsOf(1));
    await closeNextDay(database, ofSize(database.d1, size));
    assert.equal(storedDays(database)[0], FIRST + deleted, `${size} bytes`);
    await closeNextDay(database);
    await addUp(database, NEXT);
    const row = rowsOf(database).get("site_a");
    assert.deepEqual([row?.from, row?.views], [FIRST + deleted, 31 - deleted]);
    const first_days = deleted === 0 ? {} : { [MONTH]: FIRST + deleted };
    assert.deepEqual(stateOf(database).months.first_days, first_days);
  }
});

// rule W5, Y10
test("days that cannot be added up are deleted after 66 days, even in the middle of a target", async () => {
  const months = { ...newMonths(FIRST), target: "site_a", day: FIRST + 3 };
  const database = databaseOf({ closed: FIRST + 66, state: { months } });
  for (let day = FIRST; day < FIRST + 68; day += 1) addDay(database, "site_a", day, totalsOf(1));
  database.run('insert into month values (?, \'site_a\', \'{"from":1,"views":4,"visitors":4}\')', [MONTH]);
  await closeNextDay(database);
  assert.deepEqual([storedDays(database)[0], stateOf(database).kept_from], [FIRST + 1, FIRST + 1]);
  assert.deepEqual(stateOf(database).months, { ...months, day: 0, first_days: { [MONTH]: FIRST + 1 } });
  assert.equal(rowsOf(database).size, 0);
  await addUp(database, stateOf(database).day + 1);
  assert.deepEqual([rowsOf(database).get("site_a")?.from, rowsOf(database).get("site_a")?.views], [FIRST + 1, 30]);
});

/**
 * Returns a database with rows of the months from MONTH - 24 to MONTH, all of which are added up.
 * @param {number} targets @param {unknown} [setting] body of the configuration row
 */
function databaseOfMonths(targets, setting) {
  const database = databaseOf({ state: { months: { ...newMonths(FIRST), from: MONTH - 24, month: MONTH + 1 } } });
  for (let month = MONTH - 24; month <= MONTH; month += 1) {
    for (let n = 0; n < targets; n += 1) {
      const totals = `{"from":${firstDayOf(month)},"views":1,"visitors":1}`;
      database.run("insert into month values (?, ?, ?)", [month, `lnk_${n}`, totals]);
    }
  }
  if (setting !== undefined) setRetention(database, setting);
  return database;
}

/** @param {Database} database @param {unknown} setting */
const setRetention = (database, setting) =>
  database.run("insert or replace into config values ('days_kept', 1, ?)", [JSON.stringify(setting)]);

/** @param {Database} database @returns {{month: number, n: number}[]} */
const storedMonths = (database) =>
  database.run("select month, count(*) as n from month group by month order by month").map((row) => ({ ...row }));

/**
 * Closes the next day, and then runs the cron job every five minutes.
 * @param {Database} database @param {number} [runs] @param {D1Database} [d1]
 */
async function runDay(database, runs = 280, d1 = database.d1) {
  const at = recordDayEnd(database) + 12 * MINUTE_MS;
  for (let run = 0; run < runs; run += 1) await tick(d1, ENV, at + run * STEP_MS);
}

// rule W5, Y10
test("months before the kept months are deleted in steps of 32 rows, after reports no longer use them", async () => {
  const database = databaseOfMonths(20, { days: 35, months: 6 });
  // Rows are deleted by runs that record their time, which they do at most every five minutes. The first run closes the
  // day, so the third run is the first that deletes rows.
  await runDay(database, 1);
  assert.equal(stateOf(database).months.from, MONTH + 1 - 6);
  assert.equal(stateOf(database).months.expired, true);
  assert.equal(storedMonths(database).length, 25, "no rows are deleted yet");
  const before = stateOf(database).written;
  let [rows, runs] = [25 * 20, 0];
  const at = (stateOf(database).day + 1) * DAY_MS + 12 * MINUTE_MS;
  while (stateOf(database).months.expired) {
    runs += 1;
    await tick(database.d1, ENV, at + runs * STEP_MS);
    const left = database.run("select count(*) as n from month")[0].n;
    assert.ok(rows - left <= 32, `${rows - left} rows in a step`);
    assert.equal(stateOf(database).months.from, MONTH + 1 - 6);
    rows = left;
  }
  assert.deepEqual(
    storedMonths(database),
    Array.from({ length: 6 }, (_, i) => ({ month: MONTH - 5 + i, n: 20 })),
  );
  // 19 months of 20 targets are 380 rows.
  assert.ok(runs >= 12 && runs <= 15, `${runs} runs`);
  // The Worker also counts the rows that close an hour.
  const written = stateOf(database).written.rows - before.rows;
  assert.ok(written >= 380 + runs && written < 390 + runs, `${written} rows`);
});

// rule W5
test("a month is deleted when a newer one has ended, and not earlier", async () => {
  const database = databaseOfMonths(2, { days: 35, months: 12 });
  await runDay(database);
  assert.equal(storedMonths(database)[0]?.month, MONTH - 11);
  while (stateOf(database).day < firstDayOf(MONTH + 2) - 2) await runDay(database, 3);
  assert.equal(storedMonths(database)[0]?.month, MONTH - 11);
  await runDay(database, 20);
  assert.equal(stateOf(database).day, firstDayOf(MONTH + 2) - 1);
  assert.equal(storedMonths(database)[0]?.month, MONTH - 10);
});

// rule X5
test("without a valid number of months, no month is deleted", async () => {
  for (const setting of [undefined, { days: 14 }, { days: 14, months: null }, { months: "6" }, [6]]) {
    const database = databaseOfMonths(1, setting);
    await runDay(database, 5);
    assert.equal(storedMonths(database).length, 25, JSON.stringify(setting));
    const { from, kept_from, expired } = stateOf(database).months;
    assert.deepEqual([from, kept_from, expired], [MONTH - 24, undefined, undefined]);
  }
});

// rule W5, Y10
test("imported months before the installation are deleted when they are older than the kept months", async () => {
  const months = { ...newMonths(FIRST), from: MONTH - 1, month: MONTH + 1 };
  const database = databaseOf({ state: { months } });
  for (let month = MONTH - 24; month < MONTH - 1; month += 1) {
    database.run("insert into month values (?, 'site_a', '{\"imported\":true}')", [month]);
  }
  setRetention(database, { days: 35, months: 6 });
  await runDay(database, 1);
  const kept = { ...months, kept_from: MONTH + 1 - 6, expired: true };
  assert.deepEqual(stateOf(database).months, kept, "reports no longer use the older months");
  await runDay(database, 4);
  assert.deepEqual(stateOf(database).months, { ...kept, expired: false });
  assert.deepEqual(
    storedMonths(database),
    Array.from({ length: 4 }, (_, i) => ({ month: MONTH - 5 + i, n: 1 })),
  );
});

// rule Y10
test("a higher number of months does not bring deleted months back", async () => {
  const database = databaseOfMonths(20, { days: 35, months: 6 });
  await runDay(database, 3);
  setRetention(database, { days: 35 });
  await runDay(database);
  assert.equal(stateOf(database).months.from, MONTH - 5);
  assert.equal(storedMonths(database).length, 6, "months that were deleted in part are deleted completely");
});

// rule W3, Y10
test("a run that crashes at any call, or loses a response, deletes exactly the expired months", async () => {
  for (const lost of [false, true]) {
    const database = databaseOfMonths(11, { days: 35, months: 8 });
    const { d1 } = database;
    let calls = 0;
    const failing = /** @type {D1Database} */ ({
      ...d1,
      batch: async (statements) => {
        calls += 1;
        // About a third of the calls fail, without a regular pattern, so that no kind of call always fails.
        if ((1_000 * Math.abs(Math.sin(calls))) % 1 > 0.3) return d1.batch(statements);
        if (lost) await d1.batch(statements);
        throw new Error("Network connection lost.");
      },
    });
    const at = (stateOf(database).day + 2) * DAY_MS + 12 * MINUTE_MS;
    for (let run = 0; run < 100; run += 1) await tick(failing, ENV, at + run * STEP_MS).catch(() => undefined);
    assert.ok(calls > 100);
    assert.deepEqual(
      storedMonths(database),
      Array.from({ length: 8 }, (_, i) => ({ month: MONTH - 7 + i, n: 11 })),
    );
    assert.equal(stateOf(database).months.expired, false);
  }
});

// rule W5
test("no rows of months are deleted once half of the day's rows are used", async () => {
  const database = databaseOfMonths(20, { days: 35, months: 6 });
  await runDay(database, 1);
  const day = stateOf(database).day + 1;
  setState(database, { ...stateOf(database), written: { day, rows: 50_000 } });
  for (let run = 1; run < 6; run += 1) await tick(database.d1, ENV, day * DAY_MS + 12 * MINUTE_MS + run * STEP_MS);
  assert.equal(storedMonths(database).length, 25);
});

// rule Y10
test("a month that could not be added up yet is not deleted, whatever its age", () => {
  const months = { ...newMonths(FIRST), first_days: { [MONTH]: FIRST + 3 } };
  assert.deepEqual(withoutMonths(months, MONTH + 9), { ...months, kept_from: MONTH, expired: true });
  const added = { ...months, month: MONTH + 2, first_days: { [MONTH]: FIRST + 3, [MONTH + 1]: NEXT + 1 } };
  const deleted = { from: MONTH + 1, kept_from: MONTH + 1, expired: true };
  const left = { ...added, ...deleted, first_days: { [MONTH + 1]: NEXT + 1 } };
  assert.deepEqual(withoutMonths(added, MONTH + 1), left);
  assert.equal(withoutMonths(left, MONTH - 3), left);
});
