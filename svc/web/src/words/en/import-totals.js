/** Import of daily totals. */

import { number, plural } from "../../format.js";

/** @param {number} count @returns {string} */
const days = (count) => plural(count, { one: "1 day", other: `${number(count)} days` });

export default {
  title: "Import earlier totals",
  explain: "Import another product's daily totals from its export, or from a table with the columns “day” and “views”.",
  file: "Exported file",
  fileHint: "CSV, JSON, ZIP or gzip. Only days before the site or link was added are imported.",
  several: "Does the file contain several Umami websites?",
  website: "Website ID",
  websiteHint: "The ID of the website to import, from the column website_id.",
  check: "Check file",
  checkCloudflare: "Check Cloudflare Web Analytics",
  product: (/** @type {string} */ product) => `Format: ${product}`,
  added: (/** @type {number} */ count, /** @type {string} */ period, /** @type {string} */ views) =>
    `${days(count)} to import (${period}), with ${views} views`,
  nothing: "No new days to import",
  unchanged: (/** @type {number} */ count) => `${days(count)} already imported`,
  different: (/** @type {number} */ count) => `${days(count)} already imported with different numbers`,
  countedHere: (/** @type {number} */ count) => `${days(count)} skipped because this service already counted them`,
  rejected: (/** @type {number} */ count) =>
    plural(count, { one: "1 line cannot be imported:", other: `${number(count)} lines cannot be imported:` }),
  line: (/** @type {string} */ line) => `Line ${line}:`,
  lists: (/** @type {number} */ months) =>
    `Also import the lists of pages, sources, countries and devices (${plural(months, { one: "1 month", other: `${number(months)} months` })})`,
  replace: "Overwrite days whose numbers differ from the file",
  submit: (/** @type {number} */ count) => (count > 0 ? `Import ${days(count)}` : "Import lists"),
  done: (/** @type {number} */ count) => (count > 0 ? `${days(count)} imported.` : "Lists imported."),
};
