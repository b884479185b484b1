import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

const FOLDER = new URL("../src/styles/", import.meta.url);

test("only one stylesheet defines a class", () => {
  /** @type {Map<string, Set<string>>} class → the stylesheets with a rule for it that applies everywhere */
  const files = new Map();
  for (const file of readdirSync(FOLDER)) {
    // Prettier indents all selectors except those that apply everywhere.
    for (const [, name = ""] of readFileSync(new URL(file, FOLDER), "utf8").matchAll(/^\.([\w-]+)(?:,| \{)$/gm)) {
      files.set(name, (files.get(name) ?? new Set()).add(file));
    }
  }
  assert.ok(files.size > 20);
  assert.deepEqual(
    [...files].filter(([, { size }]) => size > 1).map(([name, found]) => [name, ...found]),
    [],
  );
});
