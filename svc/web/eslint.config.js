import js from "@eslint/js";
import globals from "globals";

export default [
  {
    ignores: [
      "node_modules/",
      "dist/",
      "src/remedies.js",
      "src/german.js",
      "src/import-columns.js",
      "src/known-sources.js",
    ],
  },
  js.configs.recommended,
  {
    rules: {
      eqeqeq: ["error", "always"],
      "no-var": "error",
      "prefer-const": "error",
      curly: ["error", "multi-line"],
      // This rule is for comments, which Prettier does not wrap.
      "max-len": [
        "error",
        { code: 120, ignoreStrings: true, ignoreTemplateLiterals: true, ignoreRegExpLiterals: true },
      ],
      "no-unused-vars": ["error", { argsIgnorePattern: "^_" }],
    },
  },
  {
    files: ["src/**/*.{js,jsx}"],
    languageOptions: { globals: globals.browser, parserOptions: { ecmaFeatures: { jsx: true } } },
    rules: {
      "no-console": "error",
      // Each of these functions either violates the Content-Security-Policy or could parse untrusted text as markup.
      "no-eval": "error",
      "no-restricted-syntax": [
        "error",
        { selector: "JSXAttribute[name.name='dangerouslySetInnerHTML']", message: "render texts as text nodes only" },
        {
          selector: "JSXAttribute[name.name='style']",
          message: "the Content-Security-Policy forbids inline styles; use a class",
        },
      ],
      "no-restricted-properties": [
        "error",
        ...["innerHTML", "outerHTML", "insertAdjacentHTML"].map((property) => ({ property })),
      ],
    },
  },
  { files: ["*.js", "test/*.js"], languageOptions: { globals: globals.node } },
];
