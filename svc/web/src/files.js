/** Downloads of files created in the browser. */

// How long the URL stays valid. The browser reads the file from the URL only after the click.
const REVOKE_AFTER_MS = 60_000;

/** Save a file on the user's device. @param {Blob} file @param {string} name */
export function saveFile(file, name) {
  const url = URL.createObjectURL(file);
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), REVOKE_AFTER_MS);
}

/** @param {string} name @param {string} extension @returns {string} a file name without special characters */
export const fileName = (name, extension) => `${name.replace(/[^\w.-]+/g, "-")}.${extension}`;
