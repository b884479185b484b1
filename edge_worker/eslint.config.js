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
    rules: {
      // What changes outlives its request: keep() has it checked.
      "no-restricted-syntax": [
        "error",
        ...[
          "VariableDeclaration[kind='let']",
          "VariableDeclaration > VariableDeclarator > NewExpression.init[arguments.length=0][callee.name!='TextEncoder']",
          "VariableDeclaration > VariableDeclarator > ObjectExpression.init[properties.length=0]",
          "VariableDeclaration > VariableDeclarator > ArrayExpression.init[elements.length=0]",
        ].flatMap((declared) =>
          ["Program", "Program > ExportNamedDeclaration"].map((place) => ({
            selector: `${place} > ${declared}`,
            message: "State that requests share goes through keep() of isolate.js.",
          })),
        ),
      ],
    },
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
  { files: ["test/types/*.js"], languageOptions: { globals: globals.serviceworker } },
  { files: ["*.js", "tools/*.js", "test/*.js"], languageOptions: { globals: globals.node } },
];
