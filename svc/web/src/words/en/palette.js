/** The field that leads anywhere. */

export default {
  label: "Page, site or link",
  hint: "Name of a page, host of a site, code or target of a link",
  pages: "Pages",
  count: (/** @type {number} */ count) => (count === 1 ? "1 place" : `${count} places`),
  none: (/** @type {string} */ q) => `Nothing here has “${q}” in its name.`,
};
