import assert from "node:assert/strict";
import { test } from "node:test";

import { asDrafts, asRules, draft } from "../src/rule-drafts.js";

const ALL = {
  url: "https://shop.example/de",
  countries: ["DE"],
  devices: ["mobile"],
  languages: ["de", "pt-br"],
  os: ["iOS"],
  query: { name: "src", value: "flyer & poster" },
};

test("rules of a link stay the same in the editor", () => {
  assert.deepEqual(asRules(asDrafts([ALL])), [ALL]);
  const none = { countries: null, devices: null, languages: null, os: null, query: null };
  assert.deepEqual(asRules(asDrafts([{ url: "https://shop.example/" }])), [{ url: "https://shop.example/", ...none }]);
  const anyValue = { url: "https://shop.example/", query: { name: "src" } };
  assert.deepEqual(asRules(asDrafts([anyValue]))[0]?.query, { name: "src", value: null });
  // `?q` has an empty value. This differs from a condition that matches any value.
  const scans = { url: "https://shop.example/", query: { name: "q", value: "" } };
  assert.deepEqual(asRules(asDrafts([scans]))[0]?.query, scans.query);
});

test("conditions without a value match all clicks", () => {
  const [rule] = asRules([
    draft({ languages: [], os: [], query: { name: "", value: "", isAny: true }, url: " https://a.example " }),
  ]);
  assert.deepEqual(rule, {
    url: "https://a.example",
    countries: null,
    devices: null,
    languages: null,
    os: null,
    query: null,
  });
  // For a value without a parameter name, the service reports the missing name, so it must be sent.
  assert.deepEqual(asRules([draft({ query: { name: "", value: "x", isAny: false } })])[0]?.query, {
    name: "",
    value: "x",
  });
});
