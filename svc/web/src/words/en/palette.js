/** The search dialog that opens any page, site or link. */

import { plural } from "../../format.js";

export default {
  label: "Page, site or link",
  hint: "Search pages, sites and links",
  pages: "Pages",
  count: (/** @type {number} */ count) => plural(count, { one: "# result", other: "# results" }),
  none: (/** @type {string} */ q) => `No results for “${q}”.`,
};
