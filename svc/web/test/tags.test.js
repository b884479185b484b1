import assert from "node:assert/strict";
import { test } from "node:test";

import { asTag, withTags, withoutTag } from "../src/tags.js";

test("tags are in lower case, composed, and without spaces", () => {
  assert.equal(asTag("  Spring   Sale "), "spring-sale");
  assert.equal(asTag("Mu\u0308nchen"), "münchen");
  assert.equal(asTag(" \t "), "");
});

test("several tags are added together, each only once", () => {
  assert.deepEqual(withTags(["print"], "Spring sale, print,,  b2b "), ["b2b", "print", "spring-sale"]);
  assert.deepEqual(withoutTag(["a", "b"], "a"), ["b"]);
});
