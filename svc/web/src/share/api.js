/**
 * Replaces ../api.js, whose calls need a session. The page of a share sends only a password, so it needs no
 * Idempotency-Key.
 */

/** @returns {string} a value that the page does not send */
export const newKey = () => "";
