/** Texte über eine einzelne Website, auf mehreren Seiten verwendet. */

/** @type {typeof import("../en/site.js").default} */
export default {
  add: "Website hinzufügen",
  settings: "Einstellungen",
  firstNine: "Website 1 öffnen (2 bis 9 für die nächsten)",
  deletedNote: "Aufrufe dieser Website werden nicht mehr gezählt. Ihr Bericht bleibt erhalten.",
  openSite: "Website öffnen",
};
