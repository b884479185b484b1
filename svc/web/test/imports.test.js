import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

test("there are no import cycles, static or dynamic", async () => {
  const { metafile } = await build({
    entryPoints: ["src/main.jsx"],
    absWorkingDir: fileURLToPath(new URL("..", import.meta.url)),
    outdir: "/",
    bundle: true,
    write: false,
    metafile: true,
    splitting: true,
    format: "esm",
    jsx: "automatic",
    jsxImportSource: "preact",
  });
  const imports = new Map(
    Object.entries(metafile.inputs)
      .filter(([path]) => path.startsWith("src/"))
      .map(([path, input]) => [path, input.imports.map((one) => one.path).filter((one) => one.startsWith("src/"))]),
  );
  assert.ok(imports.size > 50);
  /** @type {Set<string>} */
  const done = new Set();
  /** @param {string} path @param {string[]} above the import chain */
  const visit = (path, above) => {
    assert.ok(!above.includes(path), `import cycle: ${[...above.slice(above.indexOf(path)), path].join(" → ")}`);
    if (done.has(path)) return;
    for (const next of imports.get(path) ?? []) visit(next, [...above, path]);
    done.add(path);
  };
  visit("src/main.jsx", []);
});
