import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

import { buildSnippet, buildWorker, migrations, writeBundle } from "../tools/build.js";
import { patterns } from "../tools/patterns.js";
import vocabulary from "../src/vocabulary.json" with { type: "json" };

// rule S2
test("the inline snippet has at most 410 bytes, and stores nothing", async () => {
  const snippet = await buildSnippet();
  const inline = `<script>${snippet.replaceAll("__PATH__", "/abcd/efgh")}</script>`;
  assert.ok(Buffer.byteLength(inline) <= 410, `${Buffer.byteLength(inline)} bytes`);
  assert.doesNotMatch(snippet, /cookie|localStorage|sessionStorage|indexedDB|<\//);
});

test("the worker is under 40 KB gzip, one module without a source map, and its build is reproducible", async () => {
  const snippet = await buildSnippet();
  const [{ code: one, licences }, two] = await Promise.all([buildWorker(snippet), buildWorker(snippet)]);
  assert.deepEqual({ code: one, licences }, two);
  assert.match(licences, /^isbot \d[\d.]+\n=+\n\n.*Unlicense/s);
  assert.ok(gzipSync(one).length < 40_000, `${gzipSync(one).length} bytes`);
  assert.doesNotMatch(one, /sourceMappingURL|^import /m);
});

test("the manifest lists the bundle's files", async () => {
  const folder = mkdtempSync(join(tmpdir(), "bundle-"));
  try {
    await writeBundle(folder);
    const { createHash } = await import("node:crypto");
    const manifest = JSON.parse(readFileSync(join(folder, "manifest.json"), "utf8"));
    const worker = readFileSync(join(folder, manifest.main_module));
    assert.equal(manifest.sha256, createHash("sha256").update(worker).digest("hex"));
    assert.equal(manifest.schema, vocabulary.schema);
    assert.deepEqual(JSON.parse(readFileSync(join(folder, "vocabulary.json"), "utf8")), vocabulary);
    assert.deepEqual(JSON.parse(readFileSync(join(folder, "patterns.json"), "utf8")), patterns);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("the manifest's statements create the database with its schema number, and are repeatable", async () => {
  const database = new DatabaseSync(":memory:");
  for (const statement of [...migrations(), ...migrations()].flat()) {
    database.exec(statement);
    // Each text contains one statement, because the platform's API accepts only one statement per text.
    assert.doesNotMatch(statement, /;/);
  }
  const tables = database.prepare("select name from sqlite_schema where type = 'table' order by name").all();
  assert.deepEqual(
    tables.map(({ name }) => name),
    ["config", "day", "event_log", "event_page", "hour", "ledger", "meta", "month", "outbox", "salt"],
  );
  const row = database.prepare("select value from meta where key = 'schema'").get();
  assert.equal(row?.value, vocabulary.schema);
});

// rule X7
test("a migration only makes additions, and its number is that of its file", async () => {
  const source = mkdtempSync(join(tmpdir(), "source-"));
  const folder = join(source, "schema");
  const [start] = readdirSync(join(import.meta.dirname, "../src/schema"));
  const write = (/** @type {string} */ name, /** @type {string} */ text) => writeFileSync(join(folder, name), text);
  try {
    cpSync(join(import.meta.dirname, "../src"), source, { recursive: true });
    const next = vocabulary.schema + 1;
    const name = `000${next}-more.sql`;
    write(name, "alter table day add column note text;\ncreate index if not exists notes on day (note);\n");
    const all = migrations(source);
    const added = all.pop() ?? [];
    assert.deepEqual(all, migrations());
    assert.equal(added.length, 3);
    assert.match(added[2] ?? "", new RegExp(`'schema', ${next}\\)`));
    await assert.rejects(
      writeBundle(join(source, "out"), source),
      new RegExp(`vocabulary.json has schema ${vocabulary.schema}, but the last migration is ${next}`),
    );
    for (const statement of [
      "drop table day",
      "alter table day drop column totals",
      "alter table day rename to days",
      "create table note(id integer)",
      "create unique index if not exists notes on day (note)",
      "delete from hour",
      "update day set totals = ''",
    ]) {
      write(name, `${statement};\n`);
      assert.throws(() => migrations(source), /statement not allowed in a migration/, statement);
    }
    renameSync(join(folder, name), join(folder, `000${next + 1}-more.sql`));
    assert.throws(() => migrations(source), new RegExp(`migration ${next} is missing`));
    assert.equal(start, "0001-start.sql");
  } finally {
    rmSync(source, { recursive: true });
  }
});

test("the lock file names no registry, and versions of packages that affect the code are exact", () => {
  const read = (/** @type {string} */ name) => readFileSync(join(import.meta.dirname, "..", name), "utf8");
  assert.doesNotMatch(read("package-lock.json"), /"resolved": "http/);
  const { devDependencies } = JSON.parse(read("package.json"));
  for (const name of ["esbuild", "eslint", "prettier"]) assert.match(devDependencies[name], /^\d+\.\d+\.\d+$/, name);
});
