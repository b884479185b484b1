/**
 * Builds the web application and the documentation. `node build.js FOLDER HELP` writes index.html, share.html,
 * components.html, favicon.svg, assets/NAME-HASH.js and .css, licences.txt and manifest.json. HELP is the file that
 * `python -m svc.web.help` writes; its pages become files in help/. Files over 1 KB are also written as .gz and .br.
 * The build is reproducible.
 *
 * In manifest.json, `files` maps the URL path of each file to its type and its sizes in bytes. `first` lists the files
 * that a report needs if it is the first page that the user opens. `components` lists the files of components.html, the
 * page that shows all components, which only demonstrations serve. `share` lists the files of share.html, the public
 * page of a share: `first` lists those that every viewer loads, and `all` lists all of them. `help` describes the
 * documentation: `pages` maps URL paths to files and types, `missing` is the file for unknown paths, and `files` lists
 * the URL paths of the other files that the documentation needs.
 */

import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, extname, join, resolve } from "node:path";
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
  ".json": "application/json",
  ".svg": "image/svg+xml",
};

/**
 * Finds the files that must be loaded together with an output.
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

/**
 * @param {Buffer} bytes @returns {Buffer} gzip; its header does not name the operating system, so that the output is
 *   the same everywhere
 */
function gzip(bytes) {
  const packed = gzipSync(bytes, { level: 9 });
  packed[9] = 255;
  return packed;
}

/**
 * The documentation as `python -m svc.web.help` writes it.
 * @typedef {{file: string, type: string, text: string}} Page
 * @typedef {{pages: Record<string, Page>, missing: Page, assets: Record<string, string>}} Help
 */

/**
 * @param {Record<string, string>} entryPoints
 * @param {boolean} splitting whether entries share chunks
 * @param {import("esbuild").Plugin[]} [plugins]
 */
const bundle = (entryPoints, splitting, plugins = []) =>
  build({
    plugins,
    entryPoints,
    absWorkingDir: root,
    outdir: "/",
    bundle: true,
    write: false,
    minify: true,
    splitting,
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

/**
 * For the public page of a share, replaces modules that use the session or the browser's storage with those in
 * src/share.
 * @type {import("esbuild").Plugin}
 */
const FOR_SHARES = {
  name: "for shares",
  setup: ({ onResolve }) =>
    onResolve({ filter: /^\.\.?\/(api\.js|settings\.js|report-part\.jsx)$/ }, ({ path }) => ({
      path: join(root, "src/share", basename(path)),
    })),
};

/** @param {string} folder the output folder, which is deleted first @param {Help} help */
async function writeApplication(folder, help) {
  const { metafile, outputFiles } = await bundle(
    {
      app: "src/main.jsx",
      style: "src/styles/app.css",
      "rest-style": "src/styles/rest.css",
      help: "src/help/main.js",
      "help-style": "src/help/help.css",
    },
    true,
  );
  // Build this page separately, so that the application's chunks do not depend on it.
  const components = await bundle({ components: "src/components/main.jsx" }, false);
  const share = await bundle({ share: "src/share/main.jsx", "share-style": "src/share/share.css" }, true, [FOR_SHARES]);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, "assets"), { recursive: true });

  /**
   * @param {string} path below the folder
   * @param {Buffer} bytes
   * @returns {{bytes: number, gz?: number, br?: number}} the sizes of the file and its compressed forms
   */
  const write = (path, bytes) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), bytes);
    if (bytes.length <= COMPRESSED_FROM_BYTES) return { bytes: bytes.length };
    const packed = { gz: gzip(bytes), br: brotliCompressSync(bytes) };
    for (const [form, body] of Object.entries(packed)) writeFileSync(join(folder, `${path}.${form}`), body);
    return { bytes: bytes.length, gz: packed.gz.length, br: packed.br.length };
  };
  /** @type {Record<string, {type: string, bytes: number, gz?: number, br?: number}>} */
  const files = {};
  /** @param {string} path URL path @param {Buffer} bytes */
  const put = (path, bytes) => {
    files[path] = { type: TYPES[extname(path)] ?? "application/octet-stream", ...write(path, bytes) };
  };
  for (const { path, contents } of [...outputFiles, ...components.outputFiles, ...share.outputFiles]) {
    put(path, Buffer.from(contents));
  }
  put("/favicon.svg", readFileSync(join(root, "favicon.svg")));
  for (const [path, text] of Object.entries(help.assets)) put(path, Buffer.from(text));

  const { entries, outputs } = byPath(metafile);
  const script = entries["src/main.jsx"] ?? "";
  const style = entries["src/styles/app.css"] ?? "";
  const scripts = neededBy(outputs, script);
  /** @param {string} html @param {string} css @param {string[]} js the entry first, then its imports */
  const withAssets = (html, css, js) => {
    const head = [
      `<link rel="stylesheet" href="${css}" />`,
      ...js.slice(1).map((path) => `<link rel="modulepreload" href="${path}" />`),
      `<script type="module" src="${js[0]}" blocking="render"></script>`,
    ];
    return html.replace("<!-- assets -->", () => head.join("\n    "));
  };
  const restStyle = entries["src/styles/rest.css"] ?? "";
  // Only the main stylesheet is in the HTML. src/later.jsx loads this stylesheet together with the pages that need it.
  const template = readFileSync(join(root, "index.html"), "utf8").replace("REST_STYLE", restStyle);
  const shell = withAssets(template, style, scripts);
  writeFileSync(join(folder, "index.html"), shell);
  const page = components.outputFiles.map(({ path }) => path);
  const restLink = `<link rel="stylesheet" href="${restStyle}" />\n  </head>`;
  writeFileSync(join(folder, "components.html"), withAssets(template, style, page).replace("</head>", restLink));
  const ofShare = byPath(share.metafile);
  const shareStyle = ofShare.entries["src/share/share.css"] ?? "";
  const shareScripts = neededBy(ofShare.outputs, ofShare.entries["src/share/main.jsx"] ?? "");
  const sharePage = withAssets(readFileSync(join(root, "share.html"), "utf8"), style, shareScripts);
  write(
    "share.html",
    Buffer.from(sharePage.replace("</head>", () => `  <link rel="stylesheet" href="${shareStyle}" />\n  </head>`)),
  );
  writeFileSync(join(folder, "licences.txt"), licencesOf(metafile, root));

  const helpStyle = entries["src/help/help.css"] ?? "";
  const helpScripts = neededBy(outputs, entries["src/help/main.js"] ?? "");
  for (const { file, text } of [...Object.values(help.pages), help.missing]) {
    write(file, Buffer.from(withAssets(text, helpStyle, helpScripts)));
  }
  const manifest = {
    files,
    first: [style, ...scripts],
    components: page,
    share: { first: [style, shareStyle, ...shareScripts], all: Object.keys(ofShare.outputs) },
    help: {
      pages: Object.fromEntries(Object.entries(help.pages).map(([path, { file, type }]) => [path, { file, type }])),
      missing: help.missing.file,
      files: [helpStyle, ...helpScripts, ...Object.keys(help.assets)],
    },
  };
  writeFileSync(join(folder, "manifest.json"), `${JSON.stringify(manifest, null, 2)}\n`);
}

/**
 * @param {import("esbuild").Metafile} metafile
 * @returns {{entries: Record<string, string>, outputs: import("esbuild").Metafile["outputs"]}} the URL path of each
 *   entry point, and the outputs by URL path
 */
function byPath(metafile) {
  /** @type {Record<string, string>} */
  const entries = {};
  /** @type {import("esbuild").Metafile["outputs"]} */
  const outputs = {};
  for (const [name, output] of Object.entries(metafile.outputs)) {
    const path = toPath(name);
    outputs[path] = { ...output, imports: output.imports.map((one) => ({ ...one, path: toPath(one.path) })) };
    if (output.entryPoint) entries[output.entryPoint] = path;
  }
  return { entries, outputs };
}

/** @param {string} name esbuild's name of an output @returns {string} its URL path */
const toPath = (name) =>
  `/assets/${name
    .split("/assets/")
    .pop()
    ?.replace(/^assets\//, "")}`;

const [, , folder, help] = process.argv;
if (folder === undefined || help === undefined) {
  console.error("usage: node build.js FOLDER HELP");
  process.exit(2);
}
await writeApplication(resolve(folder), JSON.parse(readFileSync(help, "utf8")));
