import js from "@eslint/js";
import globals from "globals";

export default [
  { ignores: ["node_modules/", "emulator/"] },
  js.configs.recommended,
  {
    rules: {
      eqeqeq: ["error", "always"],
      "no-var": "error",
      "prefer-const": "error",
      "no-console": "off",
    },
  },
  {
    files: ["src/*.js"],
    languageOptions: { globals: { ...globals.serviceworker, ...globals.worker, scheduler: "readonly" } },
  },
  {
    // Every byte of the page's snippet counts.
    files: ["src/page/*.js"],
    languageOptions: { globals: { ...globals.browser, navigation: "readonly" } },
    rules: { eqeqeq: "off", "prefer-const": "off", "no-unused-expressions": "off" },
  },
  { files: ["*.js", "test/**/*.js"], languageOptions: { globals: globals.node } },
  // What it hands to page.evaluate runs in the page.
  { files: ["browser.js"], languageOptions: { globals: { history: "readonly" } } },
];
