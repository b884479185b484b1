// The databases: one Durable Object with SQLite per database id, in a workerd process that runs as long as the
// emulator. An upload, which starts a new process for the scripts, therefore affects neither data nor caches. This
// process also keeps the accounts' usage counters, because it runs every statement, whether a worker or an API call
// sent it.
import { DurableObject, env } from "cloudflare:workers";
import { answerCache } from "./cache.js";

const DAY_MS = 86_400_000;
const MAX_VALUE_BYTES = 2_000_000; // platform docs: string, BLOB or row size
const TOO_BIG = "string or blob too big: SQLITE_TOOBIG";
/** @param {"read" | "write"} what */
const exceeded = (what) =>
  `Your account has exceeded D1's free tier daily row ${what} limit. Upgrade to a paid plan or wait until tomorrow ` +
  "(midnight UTC) to continue. See https://developers.cloudflare.com/d1/platform/limits/ for more details.";

/**
 * @typedef {{limits: Partial<Limits>, days: Keyed<Meter>}} AccountMeters
 * @typedef {{offset_ms: number, databases: Record<string, string>, accounts: Record<string, AccountMeters>}} World
 *   databases: database id → account id
 */

/** @type {World} settings from Python, and the counters of this process */
const world = { offset_ms: 0, databases: {}, accounts: {}, ...env.INIT };

const today = () => Math.floor((Date.now() + world.offset_ms) / DAY_MS);

/** @type {Meter} */
const NOTHING = { rows_read: 0, rows_written: 0, read_queries: 0, write_queries: 0 };

/**
 * Returns the account's counters of the current day, which start at 0 on each UTC day of the emulated clock.
 * @param {string} accountId
 */
function meterOf(accountId) {
  const account = (world.accounts[accountId] ??= { limits: {}, days: {} });
  return (account.days[today()] ??= { ...NOTHING });
}

/** @param {any} value @returns {SqlStorageValue} */
function parameter(value) {
  if (typeof value === "boolean") return value ? 1 : 0;
  if (Array.isArray(value)) return new Uint8Array(value).buffer; // the binding sends a BLOB as a list of bytes
  return value;
}

const encoder = new TextEncoder();
/** @param {SqlStorageValue} value @returns {number} bytes */
function sizeOf(value) {
  if (typeof value === "string") return encoder.encode(value).length;
  return value instanceof ArrayBuffer ? value.byteLength : 0;
}

/** @param {SqlStorageValue} value */
const plain = (value) => (value instanceof ArrayBuffer ? [...new Uint8Array(value)] : value);

/** @param {string[]} columns @param {unknown[][]} rows @param {string} format of the platform's API */
function shaped(columns, rows, format) {
  if (format === "ROWS_AND_COLUMNS") return { columns, rows };
  if (format === "NONE") return [];
  return rows.map((row) => Object.fromEntries(columns.map((name, i) => [name, row[i]])));
}

const COUNTS = "select total_changes() as c, last_insert_rowid() as r";

export class D1Object extends DurableObject {
  /** @type {Map<string, string>} */
  #columns = new Map();

  /**
   * Enforces the 2 MB limit for values that SQL itself builds, such as `body || ?`. The size of the parameters is not
   * sufficient for this check.
   * @param {string} sql
   */
  #refuseGrownValues(sql) {
    if (!/\|\||json_(set|insert|replace|group)|group_concat|printf|zeroblob|replace\s*\(/i.test(sql)) return;
    const table = /\b(?:into|update(?:\s+or\s+\w+)?)\s+"?([A-Za-z_]\w*)"?/i.exec(sql)?.[1];
    if (!table) return;
    if (!this.#columns.has(table)) {
      const rows = this.ctx.storage.sql.exec("select name from pragma_table_info(?)", table).toArray();
      this.#columns.set(table, rows.map((row) => `octet_length("${row.name}") > ${MAX_VALUE_BYTES}`).join(" or "));
    }
    const large = this.#columns.get(table);
    if (large && this.ctx.storage.sql.exec(`select 1 from "${table}" where ${large} limit 1`).toArray().length) {
      throw new Error(TOO_BIG);
    }
  }

  /**
   * @param {Statement} statement @param {string} format
   * @param {Meter} meter updated in place @param {Meter} before its state before the batch @param {Limits} limits
   */
  #one({ sql, params }, format, meter, before, limits) {
    const bound = (params ?? []).map(parameter);
    if (bound.some((value) => sizeOf(value) > MAX_VALUE_BYTES)) throw new Error(TOO_BIG);
    const { sql: store } = this.ctx.storage;
    const counts = () => /** @type {{c: number, r: number}} */ (store.exec(COUNTS).one());
    const first = counts();
    const started = performance.now();
    const cursor = store.exec(sql, ...bound);
    const rows = [...cursor.raw()].map((row) => row.map(plain));
    const columns = cursor.columnNames;
    const { rowsRead, rowsWritten } = cursor;
    if (/^\s*(create|alter|drop)/i.test(sql)) this.#columns.clear();
    if (rowsWritten > 0) {
      if (before.rows_written >= limits.rows_written) throw new Error(exceeded("write"));
      if (store.databaseSize > limits.db_bytes) throw new Error("Exceeded maximum DB size");
      this.#refuseGrownValues(sql);
    }
    if (rowsRead > 0 && before.rows_read >= limits.rows_read) throw new Error(exceeded("read"));
    meter.rows_read += rowsRead;
    meter.rows_written += rowsWritten;
    meter[rowsWritten > 0 ? "write_queries" : "read_queries"] += 1;
    const last = counts();
    const duration = Math.round((performance.now() - started) * 1000) / 1000;
    return {
      success: true,
      results: shaped(columns, rows, format),
      meta: {
        served_by: "emulator",
        served_by_region: "WEUR",
        served_by_colo: "AMS",
        served_by_primary: true,
        timings: { sql_duration_ms: duration },
        duration,
        changes: last.c - first.c,
        last_row_id: last.r,
        changed_db: rowsWritten > 0,
        size_after: store.databaseSize,
        rows_read: rowsRead,
        rows_written: rowsWritten,
      },
    };
  }

  /**
   * Runs the statements in one transaction. If SQLite reports an error or a limit is exceeded, returns the error
   * message and changes nothing.
   * @param {Statement[]} statements @param {string} format @param {string} accountId
   */
  query(statements, format, accountId) {
    const meter = meterOf(accountId);
    const before = { ...meter };
    const none = { rows_read: Infinity, rows_written: Infinity, db_bytes: Infinity };
    const limits = { ...none, ...world.accounts[accountId]?.limits };
    try {
      return this.ctx.storage.transactionSync(() =>
        statements.map((statement) => this.#one(statement, format, meter, before, limits)),
      );
    } catch (error) {
      Object.assign(meter, before); // rolled back: neither writes nor reads are billed
      return { success: false, error: /** @type {Error} */ (error).message };
    }
  }

  stats() {
    const { sql } = this.ctx.storage;
    const own = "name not like '\\_cf\\_%' escape '\\'";
    const tables = sql.exec(`select count(*) as n from sqlite_master where type = 'table' and ${own}`);
    return { file_size: sql.databaseSize, num_tables: tables.one().n };
  }

  async destroy() {
    this.#columns.clear();
    await this.ctx.storage.deleteAll();
  }
}

/** @param {string} uuid */
const objectOf = (uuid) => env.D1.get(env.D1.idFromName(uuid));

/** @type {Record<string, (url: URL, request: Request) => Promise<unknown>>} */
const commands = {
  async "/query"(url, request) {
    const uuid = url.searchParams.get("db") ?? "";
    const accountId = world.databases[uuid];
    if (accountId === undefined) return { success: false, error: "database not found" };
    const body = /** @type {Statement | Statement[]} */ (await request.json());
    const statements = Array.isArray(body) ? body : [body];
    const format = url.searchParams.get("resultsFormat") ?? "ARRAY_OF_OBJECTS";
    return await objectOf(uuid).query(statements, format, accountId);
  },
  async "/stats"(url) {
    return await objectOf(url.searchParams.get("db") ?? "").stats();
  },
  async "/destroy"(url) {
    await objectOf(url.searchParams.get("db") ?? "").destroy();
    return {};
  },
  async "/update"(_url, request) {
    const { accounts, ...rest } = /** @type {Partial<World>} */ (await request.json());
    Object.assign(world, rest);
    for (const [id, { limits, days }] of Object.entries(accounts ?? {})) {
      const account = (world.accounts[id] ??= { limits: {}, days: {} });
      if (limits) account.limits = limits;
      for (const [day, counts] of Object.entries(days ?? {})) {
        account.days[day] = { ...NOTHING, ...account.days[day], ...counts };
      }
    }
    return {};
  },
  async "/meters"() {
    return Object.fromEntries(Object.entries(world.accounts).map(([id, account]) => [id, account.days]));
  },
};

/** @type {ExportedHandler} */
export default {
  async fetch(request) {
    const url = new URL(request.url);
    if (url.pathname === "/cache") {
      const call = JSON.parse(request.headers.get("x-cache-call") ?? "{}");
      return answerCache(call, await request.arrayBuffer(), Date.now() + world.offset_ms);
    }
    const command = commands[url.pathname];
    if (command === undefined) return new Response(null, { status: 404 });
    const answer = await command(url, request);
    // If the body is left unread, the connection is closed, sometimes before a long response is complete.
    if (!request.bodyUsed) await request.arrayBuffer();
    return Response.json(answer);
  },
};
