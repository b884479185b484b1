/** Files that are made in the browser. */

// The browser reads the file from its address after the click.
const FORGOTTEN_AFTER_MS = 60_000;

/** @param {Blob} file is saved on the reader's machine @param {string} name of it */
export function saveFile(file, name) {
  const url = URL.createObjectURL(file);
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), FORGOTTEN_AFTER_MS);
}
