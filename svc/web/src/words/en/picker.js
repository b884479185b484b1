/** The choice of countries, languages and systems. */

export default {
  anyCountry: "any country",
  others: (/** @type {number} */ count) => `${count} more`,
  findCountry: "Find a country",
  countryGroups: "Groups of countries",
  groups: {
    eu: "EU",
    eea: "EEA",
    dach: "DACH",
    benelux: "Benelux",
    nordics: "Nordic countries",
    northAmerica: "North America",
  },
  noCountry: "No countries match.",
  clearCountries: "Any country",
  done: "Done",
};
