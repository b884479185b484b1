/** Titel, Tags und Notiz eines Links: in Formularen, in Listen und auf der Seite des Links. */

/** @type {typeof import("../en/link-fields.js").default} */
const linkFields = {
  title: "Titel",
  titleHint: "Listen zeigen ihn anstelle des Codes. Besucher sehen ihn nicht.",
  suggest: "Titel vorschlagen",
  suggested: "Der Titel des Ziels ist eingetragen.",
  noTitle: "Das Ziel hat keinen Titel oder ist nicht lesbar.",
  urlFirst: "Geben Sie zuerst das Ziel ein.",
  tags: "Tags",
  tagsHint: "Drücken Sie nach jedem Tag Enter, oder geben Sie ein Komma ein.",
  removeTag: (tag) => `Tag ${tag} entfernen`,
  note: "Notiz",
  noteHint: "Besucher sehen sie nicht.",
  code: "Code",
  filter: "Nach Tag filtern",
  removeFilter: "Filter entfernen",
  allTags: (count) => `Alle ${count} Tags anzeigen`,
  fewerTags: "Weniger anzeigen",
  noneTagged: (tag) => `Keine Links haben das Tag „${tag}“.`,
  tagTitle: (tag) => `Tag: ${tag}`,
  tagExplain: "Klicks auf alle Links, die dieses Tag jetzt haben. Ihre Klicks aus der Zeit davor zählen mit.",
  tagReport: "Bericht anzeigen",
  showTagged: "Links anzeigen",
};

export default linkFields;
