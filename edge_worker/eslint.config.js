import js from "@eslint/js";
import globals from "globals";

export default [
  { ignores: ["node_modules/"] },
  js.configs.recommended,
  {
    rules: {
      eqeqeq: ["error", "always"],
      "no-var": "error",
      "prefer-const": "error",
      "no-console": "off",
      curly: ["error", "multi-line"],
      // What prettier leaves alone: comments.
      "max-len": [
        "error",
        { code: 120, ignoreStrings: true, ignoreTemplateLiterals: true, ignoreRegExpLiterals: true },
      ],
      "no-unused-vars": ["error", { argsIgnorePattern: "^_" }],
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
  {
    // The runtime has the worker's globals; capnp.py puts the last one in.
    files: ["emulator/runtime/js/*.js"],
    languageOptions: { globals: { ...globals.serviceworker, __SETTINGS__: "readonly" } },
  },
  { files: ["*.js", "tools/*.js", "test/*.js"], languageOptions: { globals: globals.node } },
];
