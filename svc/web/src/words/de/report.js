/** Berichte von Websites und Links. */

/** @type {typeof import("../en/report.js").default} */
const report = {
  title: "Bericht",
};

export default report;
