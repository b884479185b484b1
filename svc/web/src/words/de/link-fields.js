/** Titel, Tags und Notiz eines Links: in Formularen, in Listen und auf der Seite des Links. */

import { plural } from "../../format.js";

/** @type {typeof import("../en/link-fields.js").default} */
const linkFields = {
  title: "Titel",
  titleHint: "Erscheint in Listen anstelle des Codes. Besucher sehen ihn nicht.",
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
  noneTagged: (tag) => `Kein Link hat das Tag „${tag}“.`,
  tagTitle: (tag) => `Tag: ${tag}`,
  tagExplain:
    "Klicks auf alle Links, die dieses Tag derzeit haben, auch Klicks aus der Zeit, bevor es hinzugefügt wurde.",
  tagReport: "Bericht anzeigen",
  showTagged: "Links anzeigen",
  off: "aus",
  split: {
    title: "A/B-Test",
    explain:
      "Verteilt Besucher, auf die keine Regel zutrifft, auf mehrere Ziele, statt sie zum Ziel ganz oben zu leiten. Derselbe Besucher gelangt den ganzen Tag zum selben Ziel.",
    variants: (count) => plural(count, { one: "# Variante", other: "# Varianten" }),
    begin: "A/B-Test hinzufügen",
    variant: (letter) => `Variante ${letter}`,
    to: "führt zu",
    shareOf: (letter) => `Anteil der Variante ${letter}`,
    percentOf: (letter) => `Anteil der Variante ${letter} in Prozent`,
    remove: (letter) => `Variante ${letter} entfernen`,
    add: "Variante hinzufügen",
    even: "Gleiche Anteile",
    end: "A/B-Test entfernen",
    leads: "Alle anderen verteilen sich auf diese Ziele:",
    leadsAll: "Die Besucher verteilen sich auf diese Ziele:",
  },
  schedule: {
    title: "Zeitraum",
    explain: "Ohne Beginn und Ende funktioniert der Link immer.",
    always: "immer",
    start: "Beginn",
    end: "Ende",
    zone: (zone) => `Zeitzone: ${zone}.`,
    incomplete: "Geben Sie ein Datum von 2000 bis 2099 und eine Uhrzeit ein.",
    after: "Ziel vor dem Beginn und nach dem Ende",
    afterUrl: (url) => `Ist das Feld leer, gelangen Besucher zu ${url}, wie bei Links, die es nicht gibt.`,
    afterPage: "Ist das Feld leer, erscheint dieselbe Seite wie bei Links, die es nicht gibt.",
    result: "Was Besucher sehen",
    when: ({ from, to }) =>
      from && to ? `Von ${from} bis ${to}:` : from ? `Ab ${from}:` : to ? `Bis ${to}:` : "Immer:",
    goTo: "Besucher gelangen zu",
    destinations: "Besucher gelangen zu den Zielen oben.",
    notFound: "Besucher sehen eine Seite mit dem Hinweis, dass es den Link nicht gibt.",
    now: "(jetzt)",
  },
  forward: {
    title: "Query-Parameter",
    done: "Query-Parameter des Kurzlinks werden weitergegeben.",
    on: "werden weitergegeben",
    label: "Die Query-Parameter des Kurzlinks an das Ziel weitergeben",
    hint: "Parameter, die das Ziel schon hat, behalten ihren Wert. Die Parameter q und ref werden nicht weitergegeben.",
  },
};

export default linkFields;
