import js from "@eslint/js";
import { importX } from "eslint-plugin-import-x";
import globals from "globals";

// Folders of assets/, each with those that its modules must not import.
const layers = {
  lib: ["components", "views", "pages"],
  components: ["views", "pages"],
  views: ["pages"],
};

export default [
  { ignores: ["assets/vendor/", "testdata/"] },
  js.configs.recommended,
  importX.flatConfigs.errors,
  {
    files: ["assets/**/*.mjs"],
    languageOptions: { globals: globals.browser },
    rules: {
      eqeqeq: "error",
      "max-len": ["error", { code: 100 }], // prettier leaves templates as they are
      "no-var": "error",
      "prefer-const": "error",
      "import-x/no-cycle": "error",
      "import-x/no-self-import": "error",
    },
  },
  { files: ["unit/*.mjs"], languageOptions: { globals: globals.node } },
  ...Object.entries(layers).map(([folder, above]) => ({
    files: [`assets/${folder}/*.mjs`],
    rules: {
      "no-restricted-imports": [
        "error",
        { patterns: above.map((name) => ({ group: [`../${name}/*`] })) },
      ],
    },
  })),
];
