/**
 * Builds the web application. `node build.js FOLDER` writes index.html, favicon.svg, assets/NAME-HASH.js and .css,
 * licences.txt and manifest.json. Files over 1 KB are also written as .gz and .br. The build is reproducible.
 *
 * In manifest.json, `files` maps URL paths to the type and sizes in bytes of each file. `first` lists the files that a
 * report needs if it is the first page to be opened.
 */

import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, extname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";

import { build } from "esbuild";

import { licencesOf } from "../../edge_worker/tools/licences.js";

const root = dirname(fileURLToPath(import.meta.url));
/** The oldest browsers that support light-dark() and CSS nesting. They may lack Trusted Types. */
const TARGET = ["es2023", "chrome123", "safari17.5", "firefox128"];
const COMPRESSED_FROM_BYTES = 1_024;
/** @type {Record<string, string>} */
const TYPES = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/**
 * The static imports of an output.
 * @param {import("esbuild").Metafile["outputs"]} outputs
 * @param {string} path of an output
 * @returns {string[]} the output and all chunks that it imports statically
 */
function neededBy(outputs, path) {
  const found = new Set([path]);
  for (const one of found) {
    for (const { path: chunk, kind } of outputs[one]?.imports ?? []) if (kind === "import-statement") found.add(chunk);
  }
  return [...found];
}

/** @param {Buffer} bytes @returns {Buffer} gzip, with a fixed byte for the operating system */
function gzip(bytes) {
  const packed = gzipSync(bytes, { level: 9 });
  packed[9] = 255;
  return packed;
}

/** @param {string} folder is replaced */
async function writeApplication(folder) {
  const { metafile, outputFiles } = await build({
    entryPoints: { app: "src/main.jsx", style: "src/styles/app.css" },
    absWorkingDir: root,
    outdir: "/",
    bundle: true,
    write: false,
    minify: true,
    splitting: true,
    format: "esm",
    target: TARGET,
    jsx: "automatic",
    jsxImportSource: "preact",
    charset: "utf8",
    legalComments: "none",
    entryNames: "assets/[name]-[hash]",
    chunkNames: "assets/[name]-[hash]",
    metafile: true,
  });
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, "assets"), { recursive: true });

  /** @type {Record<string, {type: string, bytes: number, gz?: number, br?: number}>} */
  const files = {};
  /** @param {string} path URL path @param {Buffer} bytes */
  const put = (path, bytes) => {
    writeFileSync(join(folder, path), bytes);
    const about = (files[path] = { type: TYPES[extname(path)] ?? "application/octet-stream", bytes: bytes.length });
    if (bytes.length <= COMPRESSED_FROM_BYTES) return;
    for (const [form, packed] of Object.entries({ gz: gzip(bytes), br: brotliCompressSync(bytes) })) {
      writeFileSync(join(folder, `${path}.${form}`), packed);
      Object.assign(about, { [form]: packed.length });
    }
  };
  for (const { path, contents } of outputFiles) put(path, Buffer.from(contents));
  put("/favicon.svg", readFileSync(join(root, "favicon.svg")));

  /** @type {Record<string, string>} */
  const entries = {};
  /** @type {import("esbuild").Metafile["outputs"]} */
  const outputs = {};
  for (const [name, output] of Object.entries(metafile.outputs)) {
    const path = toPath(name);
    outputs[path] = { ...output, imports: output.imports.map((one) => ({ ...one, path: toPath(one.path) })) };
    if (output.entryPoint) entries[output.entryPoint] = path;
  }
  const script = entries["src/main.jsx"] ?? "";
  const style = entries["src/styles/app.css"] ?? "";
  const scripts = neededBy(outputs, script);
  const head = [
    `<link rel="stylesheet" href="${style}" />`,
    ...scripts.slice(1).map((path) => `<link rel="modulepreload" href="${path}" />`),
    `<script type="module" src="${script}" blocking="render"></script>`,
  ];
  const shell = readFileSync(join(root, "index.html"), "utf8").replace("<!-- assets -->", head.join("\n    "));
  writeFileSync(join(folder, "index.html"), shell);
  writeFileSync(join(folder, "licences.txt"), licencesOf(metafile, root));
  const manifest = { files, first: [style, ...scripts] };
  writeFileSync(join(folder, "manifest.json"), `${JSON.stringify(manifest, null, 2)}\n`);
}

/** @param {string} name esbuild's name of an output @returns {string} its URL path */
const toPath = (name) =>
  `/assets/${name
    .split("/assets/")
    .pop()
    ?.replace(/^assets\//, "")}`;

const [, , folder] = process.argv;
if (folder === undefined) {
  console.error("usage: node build.js FOLDER");
  process.exit(2);
}
await writeApplication(resolve(folder));
