/** Aktionen für mehrere Links und das Wiederherstellen gelöschter Links. */

import { plural } from "../../format.js";

/** @type {typeof import("../en/link-actions.js").default} */
export default {
  selection: "Auswahl",
  select: (link) => `${link} auswählen`,
  selectKey: "Link auswählen",
  selectShown: "Alle angezeigten auswählen",
  selectAll: "Alle Links dieser Liste auswählen",
  selected: (count) => plural(count, { one: "# Link ausgewählt", other: "# Links ausgewählt" }),
  allSelected: "Alle Links dieser Liste sind ausgewählt, auch die nicht angezeigten",
  clear: "Auswahl aufheben",
  addTags: "Tags hinzufügen",
  removeTags: "Tags entfernen",
  delete: "Löschen",
  continue: "Weiter",
  wouldAdd: (tags, count) =>
    plural(count, { one: `# Link erhält diese Tags: ${tags}.`, other: `# Links erhalten diese Tags: ${tags}.` }),
  wouldRemove: (tags, count) =>
    plural(count, { one: `# Link verliert diese Tags: ${tags}.`, other: `# Links verlieren diese Tags: ${tags}.` }),
  addTo: (count) => plural(count, { one: "Zu # Link hinzufügen", other: "Zu # Links hinzufügen" }),
  removeFrom: (count) => plural(count, { one: "Von # Link entfernen", other: "Von # Links entfernen" }),
  changed: (count) => plural(count, { one: "# Link wurde geändert.", other: "# Links wurden geändert." }),
  deleteTitle: (count) => plural(count, { one: "# Link löschen?", other: "# Links löschen?" }),
  deleteThem: (count) => plural(count, { one: "# Link löschen", other: "# Links löschen" }),
  deleteText:
    "Diese Links und ihre gedruckten QR-Codes funktionieren dann nicht mehr. Ihre Berichte bleiben erhalten. Ein Link lässt sich 30 Tage lang wiederherstellen, sofern kein anderer Link seinen Code verwendet.",
  deleted: (count) => plural(count, { one: "# Link wurde gelöscht.", other: "# Links wurden gelöscht." }),
  none: "Keiner der ausgewählten Links lässt sich ändern.",
  refused: (count) =>
    plural(count, { one: "# Link lässt sich nicht ändern:", other: "# Links lassen sich nicht ändern:" }),
  undo: "Rückgängig",
  restore: "Wiederherstellen",
  restoreNamed: (link) => `${link} wiederherstellen`,
  restored: (count) =>
    plural(count, { one: "# Link wurde wiederhergestellt.", other: "# Links wurden wiederhergestellt." }),
  restoredOne: (link) => `${link} wurde wiederhergestellt.`,
  restorable: (until) =>
    `Der Link lässt sich bis ${until} wiederherstellen, sofern kein anderer Link seinen Code verwendet.`,
};
