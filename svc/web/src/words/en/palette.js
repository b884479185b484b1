/** The search dialog that opens any page, site or link. */

export default {
  label: "Page, site or link",
  hint: "Search pages, sites and links",
  pages: "Pages",
  count: (/** @type {number} */ count) => (count === 1 ? "1 result" : `${count} results`),
  none: (/** @type {string} */ q) => `No results for “${q}”.`,
};
