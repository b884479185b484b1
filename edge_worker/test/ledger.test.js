import assert from "node:assert/strict";
import { test } from "node:test";

import { firstIdAt } from "../src/event_log.js";
import {
  addDropped,
  addLate,
  addPushed,
  addTallies,
  clearLedger,
  countEvent,
  dropEvent,
  encodeTally,
} from "../src/ledger.js";
import { DAY_MS } from "../src/time.js";
import { Database } from "../tools/database.js";

const DAY = 20_000;

/** @param {Database} database @param {string} tally */
function log(database, tally) {
  database.run("insert into event_log(id, lines, tally) values (?, '', ?)", [firstIdAt(DAY * DAY_MS), tally]);
  return database.d1.batch([
    addTallies(database.d1, firstIdAt(DAY * DAY_MS)),
    database.d1.prepare("delete from event_log"),
  ]);
}

/** @param {Database} database */
const ledger = (database) =>
  Object.fromEntries(
    database
      .run("select day, entry, counts from ledger")
      .map(({ day, entry, counts }) => [`${day} ${entry}`, JSON.parse(counts)]),
  );

/** @param {string} target @param {string} reason @param {number} day */
const event = (target, reason = "", day = DAY) => ({ target, reason, day });

// rule Y17
test("clicks outside of a link's period are not in the ledger", () => {
  const tally = new Map();
  countEvent(tally, "accepted", event("lnk_a", "early"));
  dropEvent(tally, "busy", event("lnk_a", "ended"));
  assert.equal(tally.size, 0);
});

// rule W4
test("accepted and dropped events are summed by target and day over many rows of the event log", async () => {
  const database = new Database();
  for (let row = 1; row <= 2; row += 1) {
    const tally = new Map();
    countEvent(tally, "accepted", event("site_a"));
    countEvent(tally, "accepted", event("site_a", "head"));
    countEvent(tally, "accepted", event("lnk_b", "", DAY - 1));
    addDropped(tally, "busy", { target: "site_a", day: DAY, views: 3, bots: 1 });
    countEvent(tally, "invalid", event(""));
    await log(database, encodeTally(tally));
    assert.deepEqual(ledger(database), {
      [`${DAY} accepted`]: { site_a: [4 * row, 2 * row] },
      [`${DAY - 1} accepted`]: { lnk_b: [row, 0] },
      [`${DAY} busy`]: { site_a: [3 * row, row] },
      [`${DAY} invalid`]: { "": [row, 0] },
    });
  }
});

// rule W4
test("drops are counted individually for a limited number of targets, and together for the rest", () => {
  const tally = new Map();
  for (let i = 0; i < 10_000; i += 1) addDropped(tally, "busy", { target: `lnk_${i}`, day: DAY, views: 1, bots: 0 });
  assert.ok(tally.size <= 502);
  const counts = [...tally.values()];
  for (const entry of ["accepted", "busy"]) {
    const views = counts.filter((count) => count.entry === entry).map((count) => count.views);
    assert.equal(
      views.reduce((a, b) => a + b),
      10_000,
    );
  }
});

// rule W3
test("a day's largest numbers count as pushed, depending on the service's response to their part", async () => {
  const database = new Database();
  /** @param {number} id @param {[string, number, number, number][]} days */
  const queue = (id, days) =>
    database.run("insert into outbox(id, made_at, part) values (?, 0, ?)", [
      id,
      JSON.stringify({ day: "2024-10-04", as_of: 0, final: false, hours: [], refused_hours: [], days }),
    ]);
  queue(1, [["site_a", 5, 1, 2]]);
  queue(2, [
    ["site_a", 7, 1, 3],
    ["lnk_gone", 4, 0, 1],
  ]);
  queue(3, [["site_a", 9, 0, 3]]);
  queue(4, [["site_a", 11, 0, 3]]);
  await database.d1.batch(addPushed(database.d1, { gone: [2], accepted: [2, 77], unknown: ["lnk_gone"] }));
  // An older part arrives later, and then the same part arrives again.
  for (let i = 0; i < 2; i += 1) {
    await database.d1.batch(addPushed(database.d1, { gone: [1, 3], accepted: [1], unknown: [] }));
  }
  assert.deepEqual(ledger(database), {
    "20000 pushed": { site_a: [7, 1] },
    "20000 refused": { site_a: [9, 0] },
    "20000 unknown_target": { lnk_gone: [4, 0] },
  });
});

// rule W3
test("invalid data in the ledger or in a tally does not stop the cron", async () => {
  const database = new Database();
  for (const [i, counts] of ["", "[", "5", '"x"', "[[1]]", '{"site_a":5}'].entries()) {
    database.run("insert into ledger(day, entry, counts) values (?, 'accepted', ?)", [DAY + i, counts]);
    await log(database, `["site_a",${DAY + i},1,0]\n`);
    assert.deepEqual(ledger(database)[`${DAY + i} accepted`], { site_a: [1, 0] });
  }
  // A sum with this number exceeds 64 bits.
  const huge = 2n ** 63n - 1n;
  database.run(`update ledger set counts = '{"site_a":[${huge},${huge}]}' where day = ${DAY}`, []);
  await log(database, `["site_a",${DAY},1,1]\n`);
  await log(database, `["site_b",${DAY},${huge},0]\n["site_b",${DAY},1,0]\n`);
  assert.deepEqual(Object.keys(ledger(database)[`${DAY} accepted`]), ["site_a", "site_b"]);
  for (const tally of ["[\n", '5\n["site_a"]\n', '[null,20000,1,0]\n["site_a","x",1,0]\n', "{}"]) {
    await log(database, tally);
  }
  assert.equal(Object.keys(ledger(database)).length, 6);
});

// rule W3
test("a foreign part leaves the outbox", async () => {
  const database = new Database();
  const parts = [
    '{"day":"x","days":[["site_a",1,0,1]]}',
    '{"days":[["site_a",1,0,1]]}',
    '{"day":"2024-10-04","days":[[null,1,0,1],5,"site_a",{"a":1},[[1]],[],["site_b"],["site_a",2,0,1]]}',
    '{"day":"2024-10-04","days":{"site_a":[1]}}',
    "5",
    "{",
  ];
  for (const [id, part] of parts.entries()) {
    database.run("insert into outbox(id, made_at, part) values (?, 0, ?)", [id, part]);
  }
  await database.d1.batch(addPushed(database.d1, { gone: [...parts.keys()], accepted: [], unknown: [] }));
  const { site_a, ...others } = ledger(database)["20000 refused"];
  assert.deepEqual(site_a, [2, 0]);
  for (const target of Object.keys(others)) assert.ok(!target.startsWith("site_") || target === "site_b");
});

// rule W6
test("a day's counts stay within the limit of a value", async () => {
  const database = new Database();
  const many = Object.fromEntries(
    Array.from({ length: 60_000 }, (_, i) => [`lnk_${String(i).padStart(20, "0")}`, [1, 0]]),
  );
  database.run("insert into ledger(day, entry, counts) values (?, 'accepted', ?)", [DAY, JSON.stringify(many)]);
  await log(database, `["site_a",${DAY},1,0]\n`);
  assert.deepEqual(ledger(database)[`${DAY} accepted`], many);
});

// rule W4
test("late events are recorded by target and day; a day is deleted with the expiry of its last part", async () => {
  const database = new Database();
  const late = new Map();
  countEvent(late, "too_old", event("site_a"));
  countEvent(late, "too_old", event("site_b", "head"));
  countEvent(late, "too_old", event("site_a", "", DAY - 1));
  await database.d1.batch(addLate(database.d1, late));
  assert.deepEqual(addLate(database.d1, new Map()), []);
  const both = {
    [`${DAY} too_old`]: { site_a: [1, 0], site_b: [0, 1] },
    [`${DAY - 1} too_old`]: { site_a: [1, 0] },
  };
  assert.deepEqual(ledger(database), both);
  await database.d1.batch([clearLedger(database.d1, DAY + 33)]);
  assert.deepEqual(ledger(database), both);
  await database.d1.batch([clearLedger(database.d1, DAY + 34)]);
  assert.deepEqual(Object.keys(ledger(database)), [`${DAY} too_old`]);
});
