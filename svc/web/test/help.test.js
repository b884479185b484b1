import assert from "node:assert/strict";
import { test } from "node:test";

import { excerpt, find, wordsOf } from "../src/help/find.js";

/** @type {import("../src/help/find.js").Index} */
const INDEX = {
  pages: [
    ["/help/use/keys", "API keys"],
    ["/help/use/links", "Links"],
  ],
  sections: [
    [0, "", "", "Create, restrict and revoke keys."],
    [0, "revoke-a-key", "Revoke a key", "Requests with the key are refused. link_host_required does not occur."],
    [1, "", "", "Set a link host, create short links."],
    [1, "set-the-link-host", "Set the link host", "Send PUT. A monkey is not a key."],
  ],
};

/** @param {string} typed */
const hrefs = (typed) => find(INDEX, wordsOf(typed)).map(({ href }) => href);

test("sections with all words are found, headings first", () => {
  assert.deepEqual(hrefs("REVOKE  keys"), ["/help/use/keys#revoke-a-key", "/help/use/keys"]);
  assert.deepEqual(hrefs("link host"), [
    "/help/use/links#set-the-link-host",
    "/help/use/links",
    "/help/use/keys#revoke-a-key",
  ]);
  assert.deepEqual(hrefs("host_req"), ["/help/use/keys#revoke-a-key"]);
  assert.deepEqual(hrefs("revoke monkey"), []);
});

test("a text without words, or with characters of other syntaxes, finds nothing", () => {
  for (const typed of ["", "  ", "(", ".*", "<b>", "constructor", "\u0000", "İ"]) assert.deepEqual(hrefs(typed), []);
});

test("a result has the heading and the page, or the page alone", () => {
  const [page, section] = find(INDEX, ["revoke"]).toSorted((a, b) => a.href.length - b.href.length);
  assert.deepEqual([page?.title, page?.page], ["API keys", ""]);
  assert.deepEqual([section?.title, section?.page], ["Revoke a key", "API keys"]);
});

test("an excerpt marks the words and keeps the text", () => {
  const text = "Create, restrict and revoke keys.";
  const parts = excerpt(text, ["key", "create"]);
  assert.equal(parts.map((part) => part.text).join(""), text);
  assert.deepEqual(
    parts.filter(({ marked }) => marked).map((part) => part.text),
    ["Create", "key"],
  );
});

test("the excerpt of a long text surrounds the first word and ends at a space", () => {
  const text = `${"before ".repeat(50)}found ${"after ".repeat(50)}`.trim();
  const shown = excerpt(text, ["found"])
    .map((part) => part.text)
    .join("");
  assert.match(shown, /^… (before )+found (after )*after …$/);
  assert.ok(shown.length < 180);
  // The first text has no spaces, and the second does not contain the word.
  assert.ok(excerpt("x".repeat(5_000), ["x".repeat(200)]).length > 0);
  assert.equal(excerpt("short", ["absent"])[0]?.text, "short");
});
