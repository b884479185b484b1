import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { EventBuffer, record, recordDrop } from "../src/buffer.js";
import { windowMs } from "../src/budget.js";
import { addDrops, firstIdAt } from "../src/event_log.js";
import { dropEvent } from "../src/ledger.js";
import { noneDropped } from "../src/state.js";
import { DAY_MS, HOUR_MS, SECOND_MS, dayOf, hourOf } from "../src/time.js";
import { Database } from "../tools/database.js";

const Real = Date;

/** Simulates the platform: its clock, and the work of each request, which stops when the test ends the request. */
class Platform {
  now = 20_000 * DAY_MS + 12 * HOUR_MS;
  database = new Database();
  /** Number of database calls so far. */
  calls = 0;
  /** @type {{due: number, wake: () => void, of: object | null}[]} */
  #waiting = [];
  /** @type {object | null} the current request */
  #running = null;
  /** @type {Set<object>} */
  #ended = new Set();
  /** @type {Set<object>} requests that never get a response from the database, even if their calls are executed */
  unanswered = new Set();
  /** @type {Map<object, number>} delay of a request's next database call, in ms */
  slow = new Map();

  wait = (/** @type {number} */ ms) =>
    new Promise((resolve) => {
      this.#waiting.push({ due: this.now + ms, wake: () => resolve(undefined), of: this.#running });
    });

  /**
   * Runs one request's work in a separate async context.
   * @param {(sink: import("../src/buffer.js").Sink) => void} work
   * @returns {object} the request
   */
  request(work, level = 0) {
    const me = {};
    this.#running = me;
    work({ db: this.#databaseOf(me), level });
    this.#running = null;
    return me;
  }

  /** Ends a request. Nothing that the request awaits resolves after this. @param {object} request */
  end(request) {
    this.#ended.add(request);
  }

  /**
   * Returns a database binding for one request. Code that runs after a response of the binding belongs to that request.
   */
  #databaseOf(/** @type {object} */ me) {
    const { d1 } = this.database;
    const answered = async (/** @type {() => Promise<unknown>} */ call) => {
      this.calls += 1;
      const ms = this.slow.get(me) ?? 0;
      this.slow.delete(me);
      if (ms > 0) await this.wait(ms);
      const result = await call();
      if (this.#ended.has(me) || this.unanswered.has(me)) await new Promise(() => {});
      this.#running = me;
      return result;
    };
    const wrapped = (/** @type {D1PreparedStatement} */ statement) => ({
      call: () => /** @type {any} */ (statement).call(),
      bind: (/** @type {unknown[]} */ ...values) => wrapped(statement.bind(...values)),
      first: (/** @type {string} */ column) => answered(() => statement.first(column)),
    });
    return /** @type {any} */ ({
      prepare: (/** @type {string} */ sql) => wrapped(d1.prepare(sql)),
      batch: (/** @type {D1PreparedStatement[]} */ all) => answered(() => d1.batch(all)),
    });
  }

  /** Waits until all work that does not depend on the clock is done. */
  async #settle() {
    let before = "";
    for (let same = 0; same < 5; same += 1) {
      await new Promise((resolve) => void setImmediate(resolve));
      // The buffer computes its hashes on other threads. These digests are queued after those computations, so waiting
      // for them waits for both.
      const last = [1, 2, 3, 4, 5, 6, 7, 8].map(() => crypto.subtle.digest("SHA-256", new Uint8Array(1)));
      await Promise.all(last);
      const state = JSON.stringify([
        this.#waiting.length,
        buffer.events.length,
        buffer.batches,
        buffer.armed,
        this.calls,
      ]);
      if (state !== before) same = 0;
      before = state;
    }
  }

  /** Advances the clock, and runs the work that becomes due. @param {number} ms */
  async pass(ms) {
    const until = this.now + ms;
    for (;;) {
      await this.#settle();
      const [next] = this.#waiting.filter(({ due }) => due <= until).sort((a, b) => a.due - b.due);
      if (next === undefined) break;
      this.#waiting = this.#waiting.filter((other) => other !== next);
      this.now = Math.max(this.now, next.due);
      if (next.of !== null && this.#ended.has(next.of)) continue;
      this.#running = next.of;
      next.wake();
    }
    this.now = until;
  }

  /** The id of the newest row of the event log. @returns {number} */
  newestRow() {
    return this.database.run("select max(id) as id from event_log")[0].id;
  }

  /** Makes all inserts into a table fail. @param {string} table @param {string} error */
  failWrites(table, error) {
    const text = error.replaceAll("'", "''");
    this.database.run(
      `create trigger fail_${table} before insert on ${table} begin select raise(abort, '${text}'); end`,
    );
  }

  /** Ends the failure of inserts into a table. @param {string} table */
  allowWrites(table) {
    this.database.run(`drop trigger fail_${table}`);
  }

  /** Stores fields of the cron job's state. @param {Partial<import("../src/state.js").State>} state */
  setState(state) {
    this.database.run("update meta set value = ? where key = 'state'", [JSON.stringify(state)]);
  }

  /** Sorts the event log as a cron run does: its rows are deleted, and later writes must use newer rows. */
  sort() {
    this.setState({ sorted: this.newestRow() });
    this.database.run("delete from event_log");
  }

  /** @returns {string[]} pages in the lines of the event log */
  pages() {
    const text = this.database.run("select lines from event_log order by id").map(({ lines }) => lines);
    return text
      .join("")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line)[4]);
  }
}

let platform = new Platform();
let buffer = new EventBuffer();

beforeEach(() => {
  platform = new Platform();
  buffer = new EventBuffer();
  Object.assign(globalThis, { scheduler: { wait: (/** @type {number} */ ms) => platform.wait(ms) } });
  globalThis.Date = /** @type {any} */ (
    class extends Real {
      static now = () => platform.now;
    }
  );
});

/** @param {string} page @param {string} [source] */
const view = (page, source = "") => ({
  target: "site_a",
  hour: hourOf(platform.now),
  reason: /** @type {""} */ (""),
  page,
  source,
  country: "DE",
  device: "mobile",
  browser: "Safari",
  os: "iOS",
  campaign: "",
  served: "",
});

/** Sends a request that counts a view. @param {string} page @param {number} level */
const visit = (page, level = 0) =>
  platform.request((sink) => void record(buffer, view(page), { ip: "192.0.2.1", ua: "ua" }, sink), level);

// rule W3
test("ending a request before its write does not stop later writes", async () => {
  for (const level of [0, 3]) {
    const first = visit(`/first-${level}`, level);
    platform.end(first);
    await platform.pass(windowMs(level) + 7 * SECOND_MS);
    const before = platform.pages().length;
    visit(`/second-${level}`, level);
    await platform.pass(windowMs(level) + SECOND_MS);
    assert.equal(platform.pages().length, before + 2);
    await platform.pass(60 * SECOND_MS);
  }
  assert.equal(buffer.held, 0);
});

// rule W3
test("ending a request while it reads the salt or writes neither loses nor duplicates events", async () => {
  for (let round = 0; round < 4; round += 1) {
    const first = visit(`/a${round}`);
    // The database executes the call, but the request never gets the response. This first happens to the call for the
    // salt, and then to the write.
    platform.unanswered.add(first);
    await platform.pass(10 * SECOND_MS);
    visit(`/b${round}`);
    await platform.pass(30 * SECOND_MS);
    visit(`/c${round}`);
    await platform.pass(30 * SECOND_MS);
  }
  const expected = [0, 1, 2, 3].flatMap((round) => [`/a${round}`, `/b${round}`, `/c${round}`]);
  assert.deepEqual(platform.pages().sort(), expected.sort());
  assert.equal(buffer.held, 0);
  assert.deepEqual(Object.values(buffer.dropped).filter(Boolean), []);
});

// rule W3
test("a write executed after its retry adds nothing", async () => {
  visit("/first");
  await platform.pass(10 * SECOND_MS);
  const slow = visit("/slow");
  platform.slow.set(slow, 40 * SECOND_MS);
  await platform.pass(20 * SECOND_MS);
  visit("/next");
  await platform.pass(60 * SECOND_MS);
  assert.deepEqual(platform.pages().sort(), ["/first", "/next", "/slow"]);
  assert.equal(buffer.held, 0);
});

// rule W3
test("two writes of one batch to a full or sorted row add it to the next row once", async () => {
  for (const end of ["full", "sorted"]) {
    platform = new Platform();
    buffer = new EventBuffer();
    visit("/first");
    await platform.pass(10 * SECOND_MS);
    platform.slow.set(visit("/slow"), 40 * SECOND_MS);
    await platform.pass(5 * SECOND_MS);
    if (end === "full") {
      platform.database.run(
        `create trigger full before update on event_log when new.id = ${platform.newestRow()} ` +
          "begin select raise(abort, 'string or blob too big: SQLITE_TOOBIG'); end",
      );
    } else {
      platform.sort();
    }
    await platform.pass(15 * SECOND_MS);
    visit("/next");
    await platform.pass(60 * SECOND_MS);
    visit("/last");
    await platform.pass(60 * SECOND_MS);
    assert.equal(buffer.held, 0);
    const once = end === "full" ? ["/first", "/last", "/next", "/slow"] : ["/last", "/next"];
    assert.deepEqual(platform.pages().sort(), once);
    const dropped = { full: undefined, sorted: 1 }[end];
    assert.equal(tallied().busy, dropped);
  }
});

test("drops survive the end of the request that should write them", async () => {
  platform.end(platform.request((sink) => void recordDrop(buffer, "invalid", sink)));
  await platform.pass(60 * SECOND_MS);
  platform.request((sink) => void recordDrop(buffer, "invalid", sink));
  await platform.pass(60 * SECOND_MS);
  const rows = platform.database.run("select drops from event_log");
  assert.deepEqual(
    rows.map(({ drops }) => drops),
    ['["invalid",2]\n'],
  );
});

test("a batch is limited in size, and no event is lost", async () => {
  const long = "x".repeat(190);
  for (let n = 0; n < 790; n += 1) {
    const source = "日".repeat(50);
    platform.request((sink) => {
      void record(buffer, view(`/${n}/${long}`, source), { ip: "192.0.2.1", ua: "ua" }, sink);
    });
  }
  await platform.pass(60 * SECOND_MS);
  assert.equal(platform.pages().length, 790);
  const writes = platform.database.run("select length(lines) as chars, length(writes) / 9 as n from event_log");
  for (const { chars, n } of writes) assert.ok(chars / n <= 210_000, `${chars} characters in ${n} writes`);
});

// rule W3
test("if other isolates have filled the row, the write uses the next row", async () => {
  visit("/before");
  await platform.pass(5 * SECOND_MS);
  const before = platform.database.d1;
  const prepare = before.prepare.bind(before);
  // D1 rejects a value of more than 2 MB, but SQLite itself accepts it.
  platform.database.run(
    "create trigger full before update on event_log when length(new.lines) > 2000000 " +
      "begin select raise(abort, 'string or blob too big: SQLITE_TOOBIG'); end",
  );
  await prepare("update event_log set lines = lines || ?").bind("x".repeat(1_999_900)).first();
  visit("/after");
  await platform.pass(30 * SECOND_MS);
  assert.equal(buffer.held, 0);
  const rows = platform.database.run("select id, substr(lines, 1, 200) as lines from event_log order by id");
  assert.deepEqual(
    rows.map(({ lines }) => JSON.parse(lines.split("\n")[0])[4]),
    ["/before", "/after"],
  );
  assert.equal(buffer.dropped.busy, 0);
});

/** @returns {Record<string, number>} views in the tallies of the event log, by entry */
function tallied() {
  /** @type {Record<string, number>} */
  const views = {};
  for (const { tally } of platform.database.run("select tally from event_log where tally <> ''")) {
    for (const line of tally.trimEnd().split("\n")) {
      const [, , n, , entry = "accepted"] = JSON.parse(line);
      views[entry] = (views[entry] ?? 0) + n;
    }
  }
  return views;
}

// rule W4
test("events beyond the buffer limit are tallied as accepted and dropped", async () => {
  buffer.limitedUntil = platform.now + 60 * SECOND_MS;
  for (let n = 0; n < 8_010; n += 1) visit(`/${n}`);
  await platform.pass(60 * SECOND_MS);
  let visits = 8_010;
  while (buffer.held > 0 || visits === 8_010) {
    visit("/next");
    visits += 1;
    await platform.pass(60 * SECOND_MS);
  }
  // Ten events were dropped. The next event, whose request emptied the buffer, was dropped as well.
  assert.deepEqual(tallied(), { accepted: visits, budget: 10, busy: 1 });
  assert.equal(platform.pages().length, visits - 11);
});

// rule W4
test("events that may have been written, but cannot be checked, are tallied as accepted and dropped", async () => {
  visit("/first");
  await platform.pass(10 * SECOND_MS);
  buffer.dropped.invalid += 2;
  dropEvent(buffer.droppedEvents, "budget", { target: "site_a", day: dayOf(platform.now), reason: "" });
  platform.unanswered.add(visit("/unknown"));
  await platform.pass(10 * SECOND_MS);
  assert.deepEqual(tallied(), { accepted: 3, budget: 1 });
  // A cron run sorts the row before the write is retried.
  platform.sort();
  await platform.pass(60 * SECOND_MS);
  visit("/next");
  await platform.pass(60 * SECOND_MS);
  visit("/last");
  await platform.pass(60 * SECOND_MS);
  assert.deepEqual(platform.pages(), ["/next", "/last"]);
  assert.deepEqual(tallied(), { accepted: 4, budget: 1, busy: 1 });
  const drops = platform.database.run("select group_concat(drops, '') as drops from event_log")[0].drops;
  assert.equal(addDrops(noneDropped(), drops).invalid, 2);
});

// rule W3
test("a write that the daily limit rejected uses a new row when it is retried", async () => {
  platform.failWrites("event_log", "D1_ERROR: Your account has exceeded D1's free tier daily row write limit.");
  visit("/refused");
  await platform.pass(10 * SECOND_MS);
  assert.equal(buffer.held, 1);
  await platform.pass(60 * SECOND_MS);
  platform.allowWrites("event_log");
  // Another isolate has written, and a cron run has sorted its row.
  platform.database.run("insert into event_log(id, lines) values (?, '')", [firstIdAt(platform.now)]);
  platform.sort();
  await platform.pass(60 * SECOND_MS);
  for (const page of ["/next", "/last"]) {
    visit(page);
    await platform.pass(60 * SECOND_MS);
  }
  assert.deepEqual(platform.pages().sort(), ["/last", "/next", "/refused"]);
  assert.deepEqual(tallied(), { accepted: 3 });
});

// rule W3
test("events held over midnight count until their day is closed", async () => {
  const day = dayOf(platform.now);
  platform.setState({ day: day - 1 });
  await platform.pass(HOUR_MS * 11.9);
  platform.failWrites("salt", "D1_ERROR: Network connection lost.");
  visit("/before-midnight");
  await platform.pass(HOUR_MS);
  platform.allowWrites("salt");
  visit("/after-midnight");
  await platform.pass(60 * SECOND_MS);
  assert.deepEqual(platform.pages(), ["/before-midnight", "/after-midnight"]);
  assert.deepEqual(tallied(), { accepted: 2 });
  // The next write deletes the salt of the ended day from the isolate's memory.
  visit("/next");
  await platform.pass(60 * SECOND_MS);
  assert.deepEqual([...buffer.salts.keys()], [day + 1]);
});

test("two requests that encode the same batch cause no error", async (context) => {
  const warnings = context.mock.method(console, "warn", () => {});
  platform.slow.set(visit("/slow"), 40 * SECOND_MS);
  await platform.pass(20 * SECOND_MS);
  visit("/next");
  await platform.pass(60 * SECOND_MS);
  assert.deepEqual(platform.pages().sort(), ["/next", "/slow"]);
  assert.equal(warnings.mock.callCount(), 0);
});
