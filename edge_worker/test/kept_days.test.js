import assert from "node:assert/strict";
import { test } from "node:test";

import { tick } from "../src/cron.js";
import { closeLine, encodeEvent, firstIdAt, newWriteName } from "../src/event_log.js";
import { newMonths } from "../src/months.js";
import { DAY_MS, HOUR_MS, MINUTE_MS, dateText, hourOf } from "../src/time.js";
import { Database } from "../tools/database.js";

/** The last closed day, and the number of days with rows before it. */
const CLOSED = 20_000;
const AGE = 40;
const SITES = 3;
// Pushes fail, because no server listens on this port. These tests do not need pushes.
const ENV = { PUSH_URL: "http://127.0.0.1:9/", WORKER_KEY: "k", BUNDLE: "b", INSTALL: "i", PUSH_SECOND: "420" };

/** @typedef {{day: number, kept_from?: number, written: {day: number, rows: number}}} State */

/**
 * @param {{days?: number[], setting?: unknown, state?: Partial<State>}} [options]
 * @returns {Database} database of a Worker that has closed the day CLOSED. All months are already added up, so no day
 *   has to be kept for its month
 */
function databaseOf({ days = daysBetween(CLOSED - AGE, CLOSED), setting, state } = {}) {
  const database = new Database();
  for (const day of days) addDay(database, day);
  if (setting !== undefined) set(database, JSON.stringify(setting));
  const months = newMonths(CLOSED + 365);
  const known = { day: CLOSED, hour: (CLOSED + 1) * 24, since: 0, as_of: (CLOSED + 1) * DAY_MS, months, ...state };
  database.run("update meta set value = ? where key = 'state'", [JSON.stringify(known)]);
  return database;
}

/** @param {number} first @param {number} last @returns {number[]} both included */
const daysBetween = (first, last) => Array.from({ length: last - first + 1 }, (_, i) => first + i);

/** @param {Database} database @param {number} day */
function addDay(database, day) {
  for (let site = 0; site < SITES; site += 1) {
    database.run("insert into day values (?, ?, '{\"views\":1}')", [`site_${site}`, day]);
  }
}

/** @param {Database} database @param {string | null} body */
function set(database, body) {
  database.run("insert or replace into config values ('days_kept', 7, ?)", [body]);
}

/** @param {Database} database @returns {State} */
const stateOf = (database) => JSON.parse(database.run("select value from meta where key = 'state'")[0].value);

/** @param {Database} database @returns {number[]} */
const storedDays = (database) => database.run("select distinct day from day order by day").map(({ day }) => day);

/** @param {number} day @returns {number} epoch ms of a cron run that closes this day */
const closingOf = (day) => (day + 1) * DAY_MS + 12 * MINUTE_MS;

/** Records that the first run after the next day has been successful, as on most nights. @param {Database} database */
function recordDayEnd(database) {
  const end = (stateOf(database).day + 2) * DAY_MS;
  database.run("update meta set value = json_set(value, '$.day_ended_at', ?) where key = 'state'", [end]);
}

/**
 * Closes the next day. If this day has no rows yet, first adds rows as if each site had a view.
 * @param {Database} database @param {D1Database} [d1]
 */
async function closeNextDay(database, d1 = database.d1) {
  const day = stateOf(database).day + 1;
  if (!storedDays(database).includes(day)) addDay(database, day);
  recordDayEnd(database);
  await tick(d1, ENV, closingOf(day));
}

// rule W5
test("35 days before the closed one are kept by default", async () => {
  for (const body of [undefined, null]) {
    const database = databaseOf({ days: daysBetween(CLOSED - 34, CLOSED) });
    if (body === null) set(database, body);
    await closeNextDay(database);
    assert.deepEqual(storedDays(database), daysBetween(CLOSED - 34, CLOSED + 1));
    assert.equal(stateOf(database).kept_from, 0, "nothing was deleted");
    await closeNextDay(database);
    assert.deepEqual(storedDays(database), daysBetween(CLOSED - 33, CLOSED + 2));
    assert.equal(stateOf(database).kept_from, CLOSED - 33);
  }
});

// rule W5
test("fewer days are kept if the account is set to", async () => {
  const database = databaseOf({ days: daysBetween(CLOSED - 14, CLOSED), setting: { days: 14 } });
  await closeNextDay(database);
  assert.deepEqual(storedDays(database), daysBetween(CLOSED - 13, CLOSED + 1));
  assert.equal(stateOf(database).kept_from, CLOSED - 13);
});

// rule W5
test("a lowered setting deletes two days per night and records exactly which are deleted", async () => {
  const database = databaseOf({ days: daysBetween(CLOSED - 35, CLOSED), setting: { days: 14 } });
  let oldest = CLOSED - 35;
  for (let nights = 1; nights <= 21; nights += 1) {
    await closeNextDay(database);
    oldest += 2;
    assert.deepEqual(storedDays(database), daysBetween(oldest, CLOSED + nights), `after ${nights} nights`);
    assert.equal(stateOf(database).kept_from, oldest);
  }
  // The new retention is reached. From now on, each closeNextDay deletes one day.
  assert.equal(oldest, CLOSED + 21 - 14);
  await closeNextDay(database);
  assert.deepEqual(storedDays(database), daysBetween(oldest + 1, CLOSED + 22));
});

test("days without rows are skipped and not recorded as deleted", async () => {
  const old = [CLOSED - 33, CLOSED - 30, CLOSED - 20, CLOSED - 19];
  const database = databaseOf({ days: [...old, CLOSED - 3], setting: { days: 14 } });
  await closeNextDay(database);
  assert.equal(stateOf(database).kept_from, CLOSED - 29);
  await closeNextDay(database);
  assert.equal(stateOf(database).kept_from, CLOSED - 18);
  assert.deepEqual(storedDays(database), [CLOSED - 3, CLOSED + 1, CLOSED + 2]);
  await closeNextDay(database);
  assert.equal(stateOf(database).kept_from, CLOSED - 18);
});

test("a raised setting stops deletion and restores nothing", async () => {
  const database = databaseOf({ days: daysBetween(CLOSED - 20, CLOSED), setting: { days: 14 } });
  for (let nights = 0; nights < 3; nights += 1) await closeNextDay(database);
  const kept = stateOf(database).kept_from;
  assert.equal(kept, CLOSED - 14);
  set(database, '{"days":35}');
  for (let nights = 0; nights < 18; nights += 1) await closeNextDay(database);
  assert.equal(stateOf(database).kept_from, kept);
  assert.deepEqual(storedDays(database), daysBetween(kept, CLOSED + 21));
  await closeNextDay(database);
  assert.equal(stateOf(database).kept_from, kept + 1, "35 days are stored again");
});

// rule X5
test("foreign rows do not prevent a day from being closed", async () => {
  const database = databaseOf({ setting: { days: 14 } });
  for (const day of [-3, 2 ** 52, CLOSED - AGE - 0.5, "x", Buffer.from("x")]) {
    database.run("insert into day values ('other', ?, '')", [/** @type {any} */ (day)]);
  }
  await closeNextDay(database);
  assert.deepEqual([stateOf(database).day, stateOf(database).kept_from], [CLOSED + 1, CLOSED - AGE]);
  await closeNextDay(database);
  assert.deepEqual([stateOf(database).day, stateOf(database).kept_from], [CLOSED + 2, CLOSED - AGE + 2]);
});

/** @param {Database} database */
const outcome = (database) => [storedDays(database), stateOf(database).day, stateOf(database).kept_from];

// rule W3
test("a run that crashes at any call, or loses a response, deletes the same days", async () => {
  const undisturbed = databaseOf({ setting: { days: 14 } });
  await closeNextDay(undisturbed);
  for (const lost of [false, true]) {
    let [died, crashes] = [true, 0];
    for (let survived = 0; died; survived += 1) {
      const database = databaseOf({ setting: { days: 14 } });
      const { d1 } = database;
      let calls = 0;
      died = false;
      const failing = /** @type {D1Database} */ ({
        ...d1,
        batch: async (statements) => {
          calls += 1;
          if (calls <= survived) return d1.batch(statements);
          if (lost && !died) await d1.batch(statements);
          died = true;
          throw new Error("Network connection lost.");
        },
      });
      await closeNextDay(database, failing).catch(() => undefined);
      if (died) crashes += 1;
      assert.equal(storedDays(database)[0], stateOf(database).kept_from ?? CLOSED - AGE, "exactly the deleted days");
      await tick(d1, ENV, closingOf(CLOSED + 1) + MINUTE_MS);
      assert.deepEqual(outcome(database), outcome(undisturbed), `after ${survived} calls`);
    }
    // The runs make at least five calls: state, expired days, closing, push, outcome of the push.
    assert.ok(crashes >= 5, `${crashes} crashes`);
  }
});

// rule W3
test("two concurrent runs delete only the days of one", async () => {
  const database = databaseOf({ setting: { days: 14 } });
  addDay(database, CLOSED + 1);
  recordDayEnd(database);
  const at = closingOf(CLOSED + 1);
  await Promise.all([tick(database.d1, ENV, at), tick(database.d1, ENV, at), tick(database.d1, ENV, at)]);
  assert.deepEqual(outcome(database), [daysBetween(CLOSED - AGE + 2, CLOSED + 1), CLOSED + 1, CLOSED - AGE + 2]);
});

// rule W5
test("deleted rows count as written on the day of the deletion", async () => {
  /** @param {unknown} setting @param {number[]} days @returns {Promise<number>} rows written by the Worker's count */
  const writtenOf = async (setting, days) => {
    const database = databaseOf({ setting, days });
    await closeNextDay(database);
    const { written } = stateOf(database);
    assert.equal(written.day, CLOSED + 2);
    return written.rows;
  };
  const nothing = await writtenOf({ days: 35 }, []);
  assert.equal(await writtenOf({ days: 35 }, daysBetween(CLOSED - 35, CLOSED)), nothing + SITES);
  assert.equal(await writtenOf({ days: 14 }, daysBetween(CLOSED - 35, CLOSED)), nothing + 2 * SITES);
});

// rule W4
test("parts and ledger are kept for the maximum wait of a part, even with a shorter retention", async () => {
  const database = databaseOf({ setting: { days: 14 } });
  const old = closingOf(CLOSED + 1) - 35 * DAY_MS;
  for (const [id, madeAt] of [old - 1, old + HOUR_MS].entries()) {
    database.run("insert into outbox values (?, ?, '{}')", [id + 101, madeAt]);
  }
  for (const day of [CLOSED + 1 - 35, CLOSED + 2 - 35]) {
    database.run("insert into ledger values (?, 'accepted', '{}')", [day]);
  }
  await closeNextDay(database);
  assert.deepEqual(
    database.run("select id from outbox where part = '{}'").map(({ id }) => id),
    [102],
  );
  assert.deepEqual(
    database.run("select day from ledger").map(({ day }) => day),
    [CLOSED + 2 - 35],
  );
});

// rule W4
test("a day that is deleted before it is sent remains complete in the outbox", async () => {
  const nights = 20;
  const database = databaseOf({ days: [], setting: { days: 14 } });
  const named = { page: "/", source: "", campaign: "", served: "" };
  const client = { ...named, country: "DE", device: "mobile", browser: "Safari", os: "iOS" };
  for (let day = CLOSED + 1; day <= CLOSED + nights; day += 1) {
    const at = day * DAY_MS + 12 * HOUR_MS;
    const event = encodeEvent({ target: "site_a", hour: hourOf(at), reason: "", ...client }, true);
    const insert = "insert into event_log(id, lines, writes) values (?, ?, ?)";
    database.run(insert, [firstIdAt(at), closeLine(event, "AAAAAAAA").repeat(day - CLOSED), newWriteName()]);
    for (let minute = 0; stateOf(database).day < day; minute += 1) {
      await tick(database.d1, ENV, closingOf(day) + minute * MINUTE_MS);
    }
  }
  const kept = stateOf(database).kept_from ?? 0;
  assert.equal(kept, CLOSED + nights - 14);
  assert.deepEqual(storedDays(database), daysBetween(kept, CLOSED + nights));
  const parts = database.run("select part from outbox order by id").map(({ part }) => JSON.parse(part));
  assert.deepEqual(
    parts.filter(({ final }) => final).map(({ day, days }) => [day, days]),
    daysBetween(CLOSED + 1, CLOSED + nights).map((day) => [dateText(day), [["site_a", day - CLOSED, 0, 1]]]),
  );
});
