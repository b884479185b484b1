/** Die Auswahl von Ländern, Sprachen und Systemen. */

/** @type {typeof import("../en/picker.js").default} */
export default {
  anyCountry: "jedem Land",
  others: (count) => `${count} weiteren`,
  findCountry: "Land suchen",
  countryGroups: "Ländergruppen",
  groups: {
    eu: "EU",
    eea: "EWR",
    dach: "DACH",
    benelux: "Benelux",
    nordics: "Nordische Länder",
    northAmerica: "Nordamerika",
  },
  noCountry: "Keine Länder gefunden.",
  clearCountries: "Jedes Land",
  done: "Fertig",
};
