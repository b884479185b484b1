import assert from "node:assert/strict";
import { test } from "node:test";

import { inBrowser } from "./browser.js";

inBrowser();
const { wholePixels } = await import("../src/qr-image.js");

test("each module has the same whole number of pixels, and the rest is margin", () => {
  for (let modules = 21; modules <= 129; modules++) {
    for (const size_px of [256, 512, 1024, 2048]) {
      const { width_px, offset_px } = wholePixels(modules, size_px);
      assert.equal(width_px % modules, 0);
      assert.ok(width_px <= size_px && size_px - width_px < modules);
      assert.ok(offset_px >= 0 && 2 * offset_px + width_px <= size_px);
    }
  }
});
