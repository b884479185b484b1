import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";

import { tick } from "../src/cron.js";
import { closeLine, encodeEvent, firstIdAt, newWriteName } from "../src/event_log.js";
import { DAY_MS, HOUR_MS, MINUTE_MS, dateText, hourOf } from "../src/time.js";
import { Database } from "../tools/database.js";
import vocabulary from "../src/vocabulary.json" with { type: "json" };

const HOUR = 20_000 * DAY_MS + 12 * HOUR_MS;
const ENV = { WORKER_KEY: "k", BUNDLE: "b", INSTALL: "i", PUSH_SECOND: "420" };

/** @param {string} page @param {string} source */
function lineOf(page, source) {
  const client = { country: "DE", device: "mobile", browser: "Safari", os: "iOS", campaign: "", served: "" };
  return closeLine(
    encodeEvent({ target: "site_a", hour: hourOf(HOUR), reason: "", page, source, ...client }, true),
    "AAAAAAAA",
  );
}

/** @typedef {{id: string, day: string, final: boolean, days: unknown[], hours: unknown[]}} Part */

/** Starts a server that receives pushes. */
async function listen() {
  /** @type {{error: string | null, error_kind: string | null, schema: number, parts: Part[]}[]} */
  const pushes = [];
  const server = createServer(async (request, response) => {
    const push = await new Response(/** @type {any} */ (request)).json();
    pushes.push(push);
    const accepted = push.parts.map((/** @type {Part} */ { id }) => id);
    response.end(JSON.stringify({ ok: true, accepted, refused: [], unknown_targets: [] }));
  });
  await new Promise((resolve) => void server.listen(0, "127.0.0.1", () => resolve(undefined)));
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  return { pushes, url: `http://127.0.0.1:${port}/`, server };
}

// rule W3
test("a cron reports no error if another one has already sorted the event log", async (context) => {
  const { pushes, url, server } = await listen();
  context.after(() => void server.close());
  const env = { ...ENV, PUSH_URL: url };
  const database = new Database();
  await tick(database.d1, env, HOUR);
  database.run("insert into event_log(id, lines, writes) values (?, ?, ?)", [
    firstIdAt(HOUR),
    lineOf("/", ""),
    newWriteName(),
  ]);
  const now = HOUR + HOUR_MS + 4 * MINUTE_MS;
  let others = 0;
  const { d1 } = database;
  // The other run starts and ends between the first and the second read of this run.
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
  // After a new upload, a run reports its state immediately.
  await tick(interrupted, { ...env, INSTALL: "j" }, now);
  assert.equal(others, 1);
  assert.deepEqual(
    pushes.map(({ error }) => error),
    [null, null, null],
  );
  assert.equal(database.run("select count(*) as n from event_log")[0].n, 0);
  assert.equal(database.run("select sum(totals ->> 'views') as n from day")[0].n, 1);
});

test("a flood of maximum-length events is folded in few runs, with no more lines per run than usual", async (context) => {
  const { url, server } = await listen();
  context.after(() => void server.close());
  /** @param {(n: number) => string} line @returns {Promise<number[]>} lines per page for 3,000 events */
  const pagesOf = async (line) => {
    const database = new Database();
    for (let minute = 0; minute < 10; minute += 1) {
      const lines = Array.from({ length: 300 }, (_, i) => line(minute * 300 + i)).join("");
      const id = firstIdAt(HOUR + minute * MINUTE_MS);
      database.run("insert into event_log(id, lines, writes) values (?, ?, ?)", [id, lines, newWriteName()]);
    }
    /** @type {number[]} */
    const pages = [];
    const count =
      "select length(lines) - length(replace(lines, char(10), '')) as n from event_page order by id limit 1";
    for (let run = 0; pages.length === 0 || database.run(count).length > 0; run += 1) {
      const [before] = database.run(count);
      await tick(database.d1, { ...ENV, PUSH_URL: url }, HOUR + HOUR_MS + (4 + run) * MINUTE_MS);
      pages.push(before?.n ?? 0);
    }
    assert.equal(database.run("select totals ->> 'views' as n from day")[0].n, 3_000);
    return pages;
  };
  const usual = await pagesOf((n) => lineOf(`/blog/an-article-${n % 50}`, `site${n % 70}.example`));
  const longest = await pagesOf((n) => lineOf(`/${String(n).padStart(199, "x")}`, "日".repeat(50)));
  assert.ok(longest.length <= 13, `${longest.length} runs`);
  assert.ok(Math.max(...longest) <= Math.max(...usual), `${Math.max(...longest)} and ${Math.max(...usual)} lines`);
});

// rule X7
test("with an older schema nothing is folded and nothing is lost; a newer one is accepted", async (context) => {
  const { pushes, url, server } = await listen();
  context.after(() => void server.close());
  const env = { ...ENV, PUSH_URL: url };
  const database = new Database();
  const setSchema = (/** @type {number} */ n) => database.run("update meta set value = ? where key = 'schema'", [n]);
  await tick(database.d1, env, HOUR);
  database.run("insert into event_log(id, lines, writes) values (?, ?, ?)", [
    firstIdAt(HOUR),
    lineOf("/", ""),
    newWriteName(),
  ]);
  setSchema(0);
  const closed = HOUR + HOUR_MS + 10 * MINUTE_MS;
  for (let minute = 0; minute < 20; minute += 1) await tick(database.d1, env, closed + minute * MINUTE_MS);
  assert.equal(database.run("select count(*) as n from event_log")[0].n, 1);
  const reported = pushes.at(-1);
  assert.match(reported?.error ?? "", /the database has schema 0/);
  assert.equal(reported?.error_kind, "cron");
  assert.equal(reported?.schema, 0);
  const newer = vocabulary.schema + 1;
  setSchema(newer);
  for (let minute = 20; minute < 150; minute += 1) await tick(database.d1, env, closed + minute * MINUTE_MS);
  assert.equal(database.run("select sum(views) as views from hour")[0].views, 1);
  const last = pushes.at(-1);
  assert.deepEqual([last?.error, last?.error_kind, last?.schema], [null, null, newer]);
});

// rule W3
test("each closed day has a final part, even without events", async (context) => {
  const { pushes, url, server } = await listen();
  context.after(() => void server.close());
  const database = new Database();
  const midnight = HOUR + 12 * HOUR_MS;
  await tick(database.d1, { ...ENV, PUSH_URL: url }, HOUR);
  for (let day = 0; day < 2; day += 1) {
    for (let minute = 0; minute < 70; minute += 1) {
      await tick(database.d1, { ...ENV, PUSH_URL: url }, midnight + day * DAY_MS + minute * MINUTE_MS);
    }
  }
  const parts = pushes.flatMap((push) => push.parts).filter(({ final }) => final);
  assert.deepEqual(
    parts.map(({ day, days, hours }) => [day, days, hours]),
    [
      [dateText(20_000), [], []],
      [dateText(20_001), [], []],
    ],
  );
});
