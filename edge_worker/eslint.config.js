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
      // prettier does not wrap comments.
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
      // Module-level state outlives the request that sets it, so it must not contain objects of a request. The type
      // check finds such objects only if the state is declared with keep().
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
            message: "Declare state shared by requests with keep() from isolate.js.",
          })),
        ),
      ],
    },
  },
  {
    // The page snippet is optimized for size.
    files: ["src/page/*.js"],
    languageOptions: { globals: { ...globals.browser, navigation: "readonly" } },
    rules: { eqeqeq: "off", "prefer-const": "off", "no-unused-expressions": "off" },
  },
  {
    // The worker's globals, and __SETTINGS__, which capnp.py inserts.
    files: ["emulator/runtime/js/*.js"],
    languageOptions: { globals: { ...globals.serviceworker, __SETTINGS__: "readonly" } },
  },
  { files: ["test/types/*.js"], languageOptions: { globals: globals.serviceworker } },
  { files: ["*.js", "tools/*.js", "test/*.js"], languageOptions: { globals: globals.node } },
];
