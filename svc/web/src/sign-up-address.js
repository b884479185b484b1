/**
 * The email address of a sign-up in this browser, for the sign-in form. The link in the confirmation email opens in a
 * new tab, so the address is in the storage that all tabs share, until the user signs in or the link expires.
 */

const NAME = "sign-up";
// How long the address is stored, which is also how long the link in the email is valid.
const KEPT_MS = 24 * 3_600_000;

/** @param {string} email */
export function keepAddress(email) {
  try {
    localStorage.setItem(NAME, JSON.stringify({ email, until_ms: Date.now() + KEPT_MS }));
  } catch {
    // Without storage, the user has to type the address again.
  }
}

/** @returns {string} the address, or "" */
export function keptAddress() {
  try {
    const { email, until_ms } = JSON.parse(localStorage.getItem(NAME) ?? "{}");
    if (typeof email === "string" && until_ms > Date.now()) return email;
  } catch {
    // If storage is unavailable or the value is unreadable, the user has to type the address again.
  }
  forgetAddress();
  return "";
}

export function forgetAddress() {
  try {
    localStorage.removeItem(NAME);
  } catch {
    // Storage is unavailable, so no address is stored.
  }
}
