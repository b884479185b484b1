import assert from "node:assert/strict";
import { test } from "node:test";

import { Config } from "../src/config.js";
import { query } from "../src/config_query.js";
import { DAY_MS, MINUTE_MS } from "../src/time.js";
import { Database } from "../tools/database.js";

const DAY = 20_000;

// rule W5
test("the level of the write budget ends at midnight, even for a configuration that was read before", async () => {
  const database = new Database();
  const state = JSON.stringify({ level: 2, written: { day: DAY, rows: 85_000 } });
  database.run("update meta set value = ? where key = 'state'", [state]);
  const midnight = (DAY + 1) * DAY_MS;
  const config = new Config();
  assert.equal(config.levelAt(midnight - 1), 0);
  config.store(await query(database.d1, new Set(), new Set()), midnight - MINUTE_MS);
  assert.equal(config.levelAt(midnight - 1), 2);
  assert.equal(config.levelAt(midnight), 0);
});
