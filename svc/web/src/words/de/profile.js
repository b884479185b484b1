/** Wer ich hier bin, und wie die Seiten aussehen. */

/** @type {typeof import("../en/profile.js").default} */
const profile = {
  title: "Profil",
  email: "E-Mail",
  confirmed: "bestätigt",
  unconfirmed: "noch nicht bestätigt",
  plan: "Tarif",
  look: "In diesem Browser",
  theme: "Farben",
  language: "Sprache",
  asBrowser: "Wie der Browser",
  shortcuts: "Tastenkürzel",
  shortcutsHint: "Einzelne Buchstaben wie j, k oder n; ? zeigt alle.",
  on: "An",
  off: "Aus",
  oldPassword: "Jetziges Passwort",
  setPassword: "Passwort ändern",
  passwordSet: "Geändert. Alle anderen Sitzungen sind beendet; diese geht weiter.",
  session: "Sitzung",
};

export default profile;
