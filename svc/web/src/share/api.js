/** In place of ../api.js, whose calls need a session: the key of a write. The page sends only a password. */

/** @returns {string} a value that the page does not send */
export const newKey = () => "";
