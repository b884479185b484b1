/** The account that a demonstration offers to connect. `make demo` inserts its values into the page. */

/** @typedef {{edge_account_id: string, bootstrap_token: string}} Offered */

/** @returns {Offered | null} the values for the connect form, or null if this is not a demonstration */
export function demonstration() {
  const mark = document.querySelector('meta[name="demonstration"]');
  return mark instanceof HTMLMetaElement ? JSON.parse(mark.content) : null;
}
