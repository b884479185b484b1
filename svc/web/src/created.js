/**
 * The link that the user has just created. The link's page offers to copy the link, to download its QR code, and to
 * delete it again.
 */

import { signal } from "@preact/signals";

/** `copied`: true if the short URL is on the clipboard; `undo_until_ms`: since 1970 */
export const created = signal(/** @type {{id: string, copied: boolean, undo_until_ms: number} | null} */ (null));

const UNDO_MS = 10_000;

/** Copy the short URL of a new link, and announce the link on its page. @param {import("./wire").Link} link */
export async function announce({ id, short_url }) {
  let copied = false;
  try {
    if (short_url) {
      await navigator.clipboard.writeText(short_url);
      copied = true;
    }
  } catch {
    // The browser does not allow the page to copy here. The link's page has a button for copying.
  }
  created.value = { id, copied, undo_until_ms: Date.now() + UNDO_MS };
}
