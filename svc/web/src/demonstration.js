/** The objects that a demonstration offers for trying out the application. `make demo` inserts them into the page. */

/**
 * @typedef {object} Offered
 * @property {string} edge_account_id of an account that can be connected
 * @property {string} bootstrap_token
 * @property {string} host of a site that can be added to this account
 * @property {string} visit_url sends one view of the site. It accepts the site's tracking path as `path`
 */

/** @returns {Offered | null} null if this is not a demonstration */
export function demonstration() {
  const mark = document.querySelector('meta[name="demonstration"]');
  return mark instanceof HTMLMetaElement ? JSON.parse(mark.content) : null;
}
