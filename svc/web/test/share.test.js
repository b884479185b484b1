import assert from "node:assert/strict";
import { test } from "node:test";

import { inBrowser } from "./browser.js";

inBrowser();
const { share } = await import("../src/share.js");

test("a share that is not zero is not shown as zero", () => {
  assert.deepEqual([0, 0.0014, 0.0049, 0.005, 0.126, 1].map(share), ["0%", "<1%", "<1%", "1%", "13%", "100%"]);
});
