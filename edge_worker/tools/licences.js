/** The texts of the licences of the packages that a bundle has something of. */

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const TEXT = /^(licen[sc]e|copying|notice)/i;

/**
 * @param {import("esbuild").Metafile} metafile
 * @param {string} root the folder that its paths are relative to
 * @returns {string} name, version and texts of each package, in the order of their names
 * @throws {Error} a package brings none
 */
export function licencesOf({ inputs }, root) {
  const folders = Object.keys(inputs).map((path) => /^(.*\bnode_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? "");
  const told = [...new Set(folders)].filter((folder) => folder !== "").map((folder) => licenceOf(join(root, folder)));
  return told.sort().join("\n");
}

/** @param {string} folder of a package */
function licenceOf(folder) {
  const { name, version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const files = readdirSync(folder).filter((file) => TEXT.test(file));
  if (files.length === 0) throw new Error(`${name} ${version} brings no text of its licence`);
  const title = `${name} ${version}`;
  const texts = files.sort().map((file) => readFileSync(join(folder, file), "utf8").trim());
  return `${[title, "=".repeat(title.length), "", ...texts].join("\n")}\n`;
}
