/**
 * Builds the Worker: `node tools/build.js FOLDER [SOURCE]` builds the Worker in SOURCE (default: src) and writes
 * svc-edge.js, snippet.js, vocabulary.json, patterns.json, manifest.json and licences.txt to FOLDER. The output is the
 * same on every machine.
 */

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { build, transform } from "esbuild";

import { licencesOf } from "./licences.js";
import { patterns } from "./patterns.js";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const SOURCE = join(root, "src");
const TARGET = "es2022";

/**
 * @param {string} [source] folder of the Worker's source
 * @returns {Promise<string>} the snippet's code, with __PATH__ for the site's path
 */
export async function buildSnippet(source = SOURCE) {
  const text = readFileSync(join(source, "page/snippet.js"), "utf8");
  const { code } = await transform(text, { minify: true, target: "es2020", legalComments: "none" });
  return code.trim().replace(/;$/, "");
}

/**
 * @param {string} snippet
 * @param {string} [source] folder of the Worker's source
 * @returns {Promise<{code: string, licences: string}>} the Worker as one ES module, and the licenses of its packages
 */
export async function buildWorker(snippet, source = SOURCE) {
  const { outputFiles, metafile } = await build({
    entryPoints: [join(source, "worker.js")],
    absWorkingDir: root,
    nodePaths: [join(root, "node_modules")],
    bundle: true,
    write: false,
    format: "esm",
    target: TARGET,
    minify: true,
    legalComments: "none",
    charset: "utf8",
    define: { SNIPPET: JSON.stringify(snippet) },
    metafile: true,
  });
  return { code: outputFiles.map(({ text }) => text).join(""), licences: licencesOf(metafile, root) };
}

/**
 * Statements allowed in a migration. They only make additions, because the previous script continues to use the tables
 * until the new script is uploaded, and again after a rollback. Each statement must be repeatable, because the platform
 * does not guarantee that a batch sent through its API is one transaction. Adding a column is not repeatable, so the
 * service skips columns that already exist.
 */
const ADDITIONS = [
  /^create table if not exists \w+\s*\(/,
  /^create index if not exists \w+ on /,
  /^insert or ignore into \w+/,
  /^alter table \w+ add column \w+/,
];

/**
 * Returns the migrations that create the database's schema. Each file in the folder is one migration; 0001-….sql is
 * number 1.
 * @param {string} [source] folder of the Worker's source
 * @returns {string[][]} the statements of each migration, in order. In a file, a line that ends with ";" ends a
 *   statement
 * @throws {Error} if a number is missing or a statement is not allowed
 */
export function migrations(source = SOURCE) {
  const folder = join(source, "schema");
  const names = readdirSync(folder).sort();
  return names.map((name, i) => {
    const number = i + 1;
    if (!new RegExp(`^${String(number).padStart(4, "0")}-[\\w-]+\\.sql$`).test(name)) {
      throw new Error(`migration ${number} is missing: found ${name}`);
    }
    const statements = readFileSync(join(folder, name), "utf8")
      .split(/;\s*(?:\n|$)/)
      .map((statement) => statement.trim())
      .filter((statement) => statement !== "");
    const wrong = statements.find((statement) => !ADDITIONS.some((form) => form.test(statement)));
    if (wrong !== undefined) throw new Error(`${name}: statement not allowed in a migration: ${wrong}`);
    return [...statements, numberStatement(number)];
  });
}

/** Returns the last statement of a migration, which never lowers the schema number. @param {number} number */
const numberStatement = (number) =>
  `insert into meta(key, value) values ('schema', ${number}) ` +
  "on conflict(key) do update set value = excluded.value where meta.value < excluded.value";

/** @param {string} folder @param {string} [source] folder of the Worker's source */
export async function writeBundle(folder, source = SOURCE) {
  const words = readFileSync(join(source, "vocabulary.json"), "utf8");
  const { schema } = JSON.parse(words);
  const all = migrations(source);
  if (schema !== all.length) {
    throw new Error(`vocabulary.json has schema ${schema}, but the last migration is ${all.length}`);
  }
  const snippet = await buildSnippet(source);
  const { code, licences } = await buildWorker(snippet, source);
  const manifest = {
    sha256: createHash("sha256").update(code).digest("hex"),
    schema,
    migrations: all,
    main_module: "svc-edge.js",
    compatibility_date: "2026-04-01",
    compatibility_flags: [],
    cron: "* * * * *",
  };
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "svc-edge.js"), code);
  writeFileSync(join(folder, "snippet.js"), snippet);
  writeFileSync(join(folder, "vocabulary.json"), words);
  writeFileSync(join(folder, "patterns.json"), `${JSON.stringify(patterns, null, 2)}\n`);
  writeFileSync(join(folder, "licences.txt"), licences);
  writeFileSync(join(folder, "manifest.json"), `${JSON.stringify(manifest, null, 2)}\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , folder, source = SOURCE] = process.argv;
  if (folder === undefined) {
    console.error("usage: node tools/build.js FOLDER [SOURCE]");
    process.exit(2);
  }
  await writeBundle(resolve(folder), resolve(source));
}
