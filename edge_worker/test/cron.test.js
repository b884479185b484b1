import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";

import { tick } from "../src/cron.js";
import { closeLine, encodeEvent, firstIdAt, newWriteName } from "../src/event_log.js";
import { DAY_MS, HOUR_MS, MINUTE_MS, hourOf } from "../src/time.js";
import { Database } from "../tools/database.js";

const HOUR = 20_000 * DAY_MS + 12 * HOUR_MS;
const ENV = { WORKER_KEY: "k", BUNDLE: "b", INSTALL: "i", PUSH_MINUTE: "7" };

/** The service's end of the push, on a port of its own. */
async function listen() {
  /** @type {{error: string | null}[]} */
  const pushes = [];
  const server = createServer(async (request, response) => {
    const push = await new Response(/** @type {any} */ (request)).json();
    pushes.push(push);
    const accepted = push.parts.map((/** @type {{id: string}} */ { id }) => id);
    response.end(JSON.stringify({ ok: true, accepted, refused: [], unknown_targets: [] }));
  });
  await new Promise((resolve) => void server.listen(0, "127.0.0.1", () => resolve(undefined)));
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  return { pushes, url: `http://127.0.0.1:${port}/`, server };
}

// rule W3
test("a cron that finds the event log sorted by another one has no trouble to report", async (context) => {
  const { pushes, url, server } = await listen();
  context.after(() => void server.close());
  const env = { ...ENV, PUSH_URL: url };
  const database = new Database();
  const line = encodeEvent(
    {
      target: "site_a",
      hour: hourOf(HOUR),
      reason: "",
      page: "/",
      source: "",
      country: "DE",
      device: "mobile",
      browser: "Safari",
      os: "iOS",
    },
    true,
  );
  await tick(database.d1, env, HOUR);
  database.run("insert into event_log(id, lines, writes) values (?, ?, ?)", [
    firstIdAt(HOUR),
    closeLine(line, "AAAAAAAA"),
    newWriteName(),
  ]);
  const now = HOUR + HOUR_MS + 4 * MINUTE_MS;
  let others = 0;
  const { d1 } = database;
  // The other cron runs whole between this one's first look and its second.
  const interrupted = /** @type {D1Database} */ ({
    ...d1,
    prepare(sql) {
      const statement = d1.prepare(sql);
      if (!sql.startsWith("with settled")) return statement;
      const bind = statement.bind.bind(statement);
      statement.bind = (...values) => {
        const bound = bind(...values);
        const first = bound.first.bind(bound);
        bound.first = /** @type {any} */ (
          async () => {
            others += 1;
            await tick(d1, env, now);
            return first();
          }
        );
        return bound;
      };
      return statement;
    },
  });
  // A new upload tells at once how it is.
  await tick(interrupted, { ...env, INSTALL: "j" }, now);
  assert.equal(others, 1);
  assert.deepEqual(
    pushes.map(({ error }) => error),
    [null, null, null],
  );
  assert.equal(database.run("select count(*) as n from event_log")[0].n, 0);
  assert.equal(database.run("select sum(totals ->> 'views') as n from day")[0].n, 1);
});
