import assert from "node:assert/strict";
import { test } from "node:test";

import { levelOf, mayAddMonths } from "../src/budget.js";
import { settingsOf } from "../src/settings.js";

// rule X5
test("an invalid number of days is clamped or ignored", () => {
  for (const [body, days] of /** @type {[unknown, number][]} */ ([
    ['{"days":14}', 14],
    ['{"days":20}', 20],
    ['{"days":35}', 35],
    ['{"days":13}', 14],
    ['{"days":0}', 14],
    ['{"days":-5}', 14],
    ['{"days":36}', 35],
    ['{"days":900719925474099}', 35],
    [null, 35],
    [undefined, 35],
    ["", 35],
    ["{", 35],
    ["null", 35],
    ["14", 35],
    ["[14]", 35],
    ["{}", 35],
    ['{"days":null}', 35],
    ['{"days":"14"}', 35],
    ['{"days":14.5}', 35],
    ['{"days":[14]}', 35],
    ['{"days":-1e999}', 35],
    ['{"days":true}', 35],
    [14, 35],
  ])) {
    assert.equal(settingsOf(body).days, days, String(body));
  }
});

// rule X5
test("an invalid number of months is clamped or ignored", () => {
  for (const [body, months] of /** @type {[unknown, number][]} */ ([
    ['{"days":14,"months":6}', 6],
    ['{"days":14,"months":120}', 120],
    ['{"months":5}', 6],
    ['{"months":0}', 6],
    ['{"months":-900719925474099}', 6],
    ['{"months":900719925474099}', 900719925474099],
    ['{"days":14}', Infinity],
    ['{"months":null}', Infinity],
    ['{"months":"6"}', Infinity],
    ['{"months":6.5}', Infinity],
    ['{"months":-1e999}', Infinity],
    ['{"months":[6]}', Infinity],
    ['"months"', Infinity],
    ["[6]", Infinity],
    ["{", Infinity],
    [null, Infinity],
    [undefined, Infinity],
  ])) {
    assert.equal(settingsOf(body).months, months, String(body));
  }
  assert.deepEqual(settingsOf('{"days":20,"months":"x"}'), { days: 20, months: Infinity, paid: false });
});

// rule X5
test("only the value paid selects the paid plan", () => {
  assert.equal(settingsOf('{"days":35,"plan":"paid"}').paid, true);
  for (const body of ['{"plan":"free"}', '{"plan":true}', '{"plan":["paid"]}', '"paid"', "{", null, undefined]) {
    assert.equal(settingsOf(body).paid, false, String(body));
  }
});

// rule W5
test("the write budget depends on the plan", () => {
  const [free, paid] = [settingsOf(null), settingsOf('{"plan":"paid"}')];
  const levels = (/** @type {number[]} */ rows, /** @type {typeof free} */ settings) =>
    rows.map((one) => levelOf(one, settings));
  assert.deepEqual(levels([0, 59_999, 60_000, 80_000, 90_000, 200_000], free), [0, 0, 1, 2, 3, 3]);
  assert.deepEqual(levels([0, 899_999, 900_000, 1_200_000, 1_350_000, 2_000_000], paid), [0, 0, 1, 2, 3, 3]);
  assert.deepEqual([mayAddMonths(49_999, free), mayAddMonths(50_000, free)], [true, false]);
  assert.deepEqual([mayAddMonths(749_999, paid), mayAddMonths(750_000, paid)], [true, false]);
});
