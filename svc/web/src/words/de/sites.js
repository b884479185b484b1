/** Websites, ihr Schnipsel und ihre Einstellungen. */

/** @type {typeof import("../en/sites.js").default} */
const sites = {
  title: "Websites",
  add: "Website hinzufügen",
  settings: "Einstellungen",
};

export default sites;
