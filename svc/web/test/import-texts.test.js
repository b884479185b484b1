import assert from "node:assert/strict";
import { test } from "node:test";

import { readLines } from "../src/import-lines.js";

/** @param {string} text @returns {unknown} title, note and tags of the first link */
function textsOf(text) {
  const [line] = readLines(text);
  assert.ok(line && "row" in line);
  const { title, note, tags } = line.row;
  return [title, note, tags];
}

const URL = "https://a.example";

test("titles, notes and tags are read from the exports of other products", () => {
  const none = undefined;
  assert.deepEqual(textsOf(`keyword,url,title\none,${URL},Sale\n`), ["Sale", none, none]);
  assert.deepEqual(textsOf(`keyword\turl\ttitle\none\t${URL}\tNULL\n`), [none, none, none]);
  assert.deepEqual(textsOf(`address,target,description\none,${URL},Flyer\n`), [none, "Flyer", none]);
  assert.deepEqual(textsOf(`shortCode,longUrl,title,tags\none,${URL},Sale,B|New York|b\n`), [
    "Sale",
    none,
    ["b", "new-york"],
  ]);
  assert.deepEqual(textsOf(`Destination URL,Short link,Tags,Comments\n${URL},dub.sh/one,"A, b/c",x\n`), [
    none,
    "x",
    ["a", "b-c"],
  ]);
  const sink = { links: [{ slug: "one", url: URL, title: "Sale", comment: "Flyer", description: "Preview" }] };
  assert.deepEqual(textsOf(JSON.stringify(sink)), ["Sale", "Flyer", none]);
  assert.deepEqual(textsOf(JSON.stringify([{ url: URL, tags: ["A", "b"] }])), [none, none, ["a", "b"]]);
  assert.deepEqual(textsOf(`code,url,edge_account_id,title,tags\none,${URL},x,'=Sale,"[""a""]"\n`), [
    "=Sale",
    none,
    ["a"],
  ]);
});

test("texts that the service would reject are shortened", () => {
  assert.deepEqual(
    textsOf(JSON.stringify([{ url: URL, title: "👩".repeat(201), tags: [".", "x".repeat(41), "\u202e"] }])),
    [`${"👩".repeat(199)}…`, undefined, ["x".repeat(40)]],
  );
  assert.deepEqual(textsOf(JSON.stringify([{ url: URL, title: " two\r\nlines\u0000", note: "x".repeat(2001) }])), [
    "two lines",
    `${"x".repeat(1999)}…`,
    undefined,
  ]);
  assert.deepEqual(textsOf(JSON.stringify([{ url: URL, tags: [..."kjihgfedcba"] }])), [
    undefined,
    undefined,
    [..."kjihgfedcb"],
  ]);
});
