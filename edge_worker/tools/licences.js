/** Collects the licenses of the packages in a bundle. */

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const TEXT = /^(licen[sc]e|copying|notice)/i;

/**
 * @param {import("esbuild").Metafile} metafile
 * @param {string} root the folder that the paths in the metafile are relative to
 * @returns {string} name, version and license texts of each package, sorted by name
 * @throws {Error} if a package contains no license
 */
export function licencesOf({ inputs }, root) {
  const folders = Object.keys(inputs).map((path) => /^(.*\bnode_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? "");
  const texts = [...new Set(folders)].filter((folder) => folder !== "").map((folder) => licenceOf(join(root, folder)));
  return texts.sort().join("\n");
}

/** @param {string} folder of a package */
function licenceOf(folder) {
  const { name, version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const files = readdirSync(folder).filter((file) => TEXT.test(file));
  if (files.length === 0) throw new Error(`${name} ${version} contains no license text`);
  const title = `${name} ${version}`;
  const texts = files.sort().map((file) => readFileSync(join(folder, file), "utf8").trim());
  return `${[title, "=".repeat(title.length), "", ...texts].join("\n")}\n`;
}
