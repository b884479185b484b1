/**
 * Builds the worker: `node tools/build.js FOLDER` writes svc-edge.js, snippet.js, vocabulary.json, patterns.json
 * and manifest.json there. The same input gives the same bytes on every machine.
 */

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { build, transform } from "esbuild";

import { patterns } from "./patterns.js";
import vocabulary from "../src/vocabulary.json" with { type: "json" };

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const TARGET = "es2022";

/** @returns {Promise<string>} the snippet's code, with __PATH__ for the site's path */
export async function buildSnippet() {
  const source = readFileSync(join(root, "src/page/snippet.js"), "utf8");
  const { code } = await transform(source, { minify: true, target: "es2020", legalComments: "none" });
  return code.trim().replace(/;$/, "");
}

/**
 * @param {string} snippet
 * @returns {Promise<string>} the worker: one ES module
 */
export async function buildWorker(snippet) {
  const { outputFiles } = await build({
    entryPoints: [join(root, "src/worker.js")],
    absWorkingDir: root,
    bundle: true,
    write: false,
    format: "esm",
    target: TARGET,
    minify: true,
    legalComments: "none",
    charset: "utf8",
    define: { SNIPPET: JSON.stringify(snippet) },
  });
  return outputFiles.map(({ text }) => text).join("");
}

/** @returns {string[]} the statements of src/schema.sql, in order; each ends there with ";" at the end of a line */
export function schemaStatements() {
  const text = readFileSync(join(root, "src/schema.sql"), "utf8").replace("__SCHEMA__", String(vocabulary.schema));
  return text
    .split(/;\s*(?:\n|$)/)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== "");
}

/** @param {string} folder */
export async function writeBundle(folder) {
  const snippet = await buildSnippet();
  const worker = await buildWorker(snippet);
  const manifest = {
    sha256: createHash("sha256").update(worker).digest("hex"),
    schema: vocabulary.schema,
    schema_statements: schemaStatements(),
    main_module: "svc-edge.js",
    compatibility_date: "2026-04-01",
    compatibility_flags: [],
    cron: "* * * * *",
  };
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "svc-edge.js"), worker);
  writeFileSync(join(folder, "snippet.js"), snippet);
  writeFileSync(join(folder, "vocabulary.json"), readFileSync(join(root, "src/vocabulary.json")));
  writeFileSync(join(folder, "patterns.json"), `${JSON.stringify(patterns, null, 2)}\n`);
  writeFileSync(join(folder, "manifest.json"), `${JSON.stringify(manifest, null, 2)}\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , folder] = process.argv;
  if (folder === undefined) {
    console.error("usage: node tools/build.js FOLDER");
    process.exit(2);
  }
  await writeBundle(resolve(folder));
}
