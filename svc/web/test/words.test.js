import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { inBrowser } from "./browser.js";

inBrowser();
const { FINDINGS, ISSUES, LEFT, LEFT_WHY, REMEDIES } = await import("../src/remedies.js");
const { default: de } = await import("../src/words/de.js");
const { default: first } = await import("../src/words/en.js");
const { default: rest } = await import("../src/words/en-rest.js");
const { default: forReports } = await import("../src/words/en-report.js");
const { default: forLinks } = await import("../src/words/en-links.js");
const en = { ...first, ...rest, ...forReports, ...forLinks };

/** @param {object} words @param {string} [above] @returns {string[]} the keys of all texts: `auth.signIn.title` */
function names(words, above = "") {
  return Object.entries(words).flatMap(([name, value]) =>
    value !== null && typeof value === "object" && !Array.isArray(value)
      ? names(value, `${above}${name}.`)
      : [above + name],
  );
}

test("both languages have the same texts", () => {
  const errors = /^(errors|api)\./;
  const english = names(en).filter((name) => !errors.test(name));
  const german = names(de).filter((name) => !errors.test(name));
  assert.deepEqual(german.sort(), english.sort());
});

test("all error codes have German texts", () => {
  // In English, the service supplies the texts of all other codes.
  const codes = [...Object.keys(REMEDIES), ...Object.keys(en.errors)];
  assert.deepEqual(
    codes.filter((code) => !de.errors[code]?.[0]),
    [],
  );
  // For each code with a remedy, there must be a German remedy, unless the English pages deliberately show no remedy.
  const own = Object.keys(en.errors).filter((code) => en.errors[code]?.[1] === null);
  const remedied = Object.keys(REMEDIES).filter((code) => REMEDIES[code]?.remedy && !own.includes(code));
  assert.deepEqual(
    remedied.filter((code) => !de.errors[code]?.[1]),
    [],
  );
  assert.deepEqual(
    Object.keys(de.errors).filter((code) => !codes.includes(code)),
    [],
  );
});

test("field issues, findings and remaining resources have German texts", () => {
  assert.deepEqual(Object.keys(de.api.issues), ISSUES);
  assert.deepEqual(
    Object.keys(de.api.findings),
    Object.keys(FINDINGS).filter((kind) => kind !== "other"),
  );
  assert.deepEqual(Object.keys(de.api.left), LEFT);
  assert.deepEqual(Object.keys(de.api.whys), LEFT_WHY);
});

test("field issues are sentences in both languages", () => {
  for (const { api } of [en, de]) {
    assert.deepEqual(Object.keys(api.issues).sort(), [...ISSUES].sort());
    for (const code of ISSUES) {
      for (const limit of [0, 1, 2_048]) {
        const said = api.issues[code]?.(limit, "the file is empty") ?? "";
        assert.match(said, /^\p{Lu}[^]*\.$/u, code);
        assert.doesNotMatch(said, /undefined|NaN|must (be|have|not)|RFC/, code);
      }
    }
  }
});

test("German findings use only facts that the service supplies", () => {
  for (const [kind, words] of Object.entries(de.api.findings)) {
    /** @type {Set<string>} */
    const named = new Set();
    const facts = new Proxy({}, { get: (_, name) => (named.add(String(name)), "2026-11-21T10:00:00Z") });
    const said = words(facts);
    assert.ok(said.length === 3 && said.every((part) => part && !part.includes("undefined")), kind);
    assert.deepEqual(
      [...named].filter((name) => !FINDINGS[kind]?.includes(name)),
      [],
      kind,
    );
  }
});

const SOURCE = new URL("../src/", import.meta.url);

/** @param {string} path of a module @returns {Map<string, string>} the module and its static imports, by URL */
function modulesOf(path) {
  /** @type {Map<string, string>} */
  const found = new Map();
  /** @param {URL} file */
  const read = (file) => {
    if (found.has(file.href)) return;
    const text = readFileSync(file, "utf8");
    found.set(file.href, text);
    for (const [, path = ""] of text.matchAll(/(?:from|^import) "(\.[^"]+\.jsx?)"/gm)) read(new URL(path, file));
  };
  read(new URL(path, SOURCE));
  return found;
}

/** @param {Map<string, string>} modules @param {object} words @returns {string[]} the modules that use these groups */
function usersOf(modules, words) {
  const groups = Object.keys(words).join("|");
  const uses = new RegExp(`t\\(\\)\\.(${groups})\\b|\\{[^{}]*\\b(${groups})\\b[^{}]*\\} = t\\(\\)`);
  return [...modules].filter(([, text]) => uses.test(text)).map(([path]) => path);
}

test("pages of the first load do not use texts that load later", () => {
  const found = modulesOf("main.jsx");
  assert.ok(found.size > 20 && !found.has(new URL("pages/rest.jsx", SOURCE).href));
  assert.deepEqual(usersOf(found, { ...rest, ...forReports, ...forLinks }), []);
});

test("only the pages of links use the texts of links", () => {
  const found = modulesOf("pages/rest.jsx");
  assert.ok(found.size > 50 && !found.has(new URL("pages/link-pages.jsx", SOURCE).href));
  assert.deepEqual(usersOf(found, forLinks), []);
  assert.notDeepEqual(usersOf(modulesOf("pages/link-pages.jsx"), forLinks), []);
});
