/** Kurzlinks, ihre Regeln und QR-Codes. */

/** @type {typeof import("../en/links.js").default} */
const links = {
  title: "Links",
  add: "Neuer Link",
  edit: "Link ändern",
};

export default links;
