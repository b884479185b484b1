/**
 * A partial implementation of the platform's database binding, on an in-memory SQLite database with the Worker's
 * schema.
 */

import { DatabaseSync } from "node:sqlite";

import { migrations } from "./build.js";

/** @typedef {string | number | null} Value */

/** @returns {number} CPU time of this thread in ms, which other processes on the machine do not increase */
export function cpuMs() {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

export class Database {
  sqlite = new DatabaseSync(":memory:");
  /**
   * CPU time spent in SQLite, in ms. It does not count for the Worker, because the database runs on another machine on
   * the platform.
   */
  sqlMs = 0;
  /** @type {D1Database} */
  d1;

  constructor() {
    for (const sql of migrations().flat()) this.sqlite.exec(sql);
    this.d1 = /** @type {any} */ ({
      prepare: (/** @type {string} */ sql) => this.#prepare(sql, []),
      batch: async (/** @type {{call: () => unknown}[]} */ statements) => this.#batch(statements),
    });
  }

  /** @param {string} sql @param {Value[]} params @returns {any[]} */
  run(sql, params = []) {
    const began = cpuMs();
    const statement = this.sqlite.prepare(sql);
    const numbered = Object.fromEntries(params.map((value, i) => [`?${i + 1}`, value]));
    const results = sql.includes("?1") ? statement.all(numbered) : statement.all(...params);
    this.sqlMs += cpuMs() - began;
    return results;
  }

  /** @param {string} sql @param {Value[]} params */
  #prepare(sql, params) {
    // The platform's client converts values to JSON and back.
    const call = () => {
      const sent = JSON.parse(JSON.stringify({ sql, params }));
      return JSON.parse(JSON.stringify({ success: true, meta: {}, results: this.run(sent.sql, sent.params) }));
    };
    return {
      call,
      bind: (/** @type {Value[]} */ ...values) => this.#prepare(sql, values),
      all: async () => call(),
      first: async (/** @type {string | undefined} */ column) => {
        const row = call().results[0] ?? null;
        return column === undefined || row === null ? row : row[column];
      },
    };
  }

  /** @param {{call: () => unknown}[]} statements */
  #batch(statements) {
    this.run("begin");
    try {
      const answers = statements.map((statement) => statement.call());
      this.run("commit");
      return answers;
    } catch (error) {
      this.run("rollback");
      throw error;
    }
  }
}
