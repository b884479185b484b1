/** Wer ich hier bin, und wie die Seiten aussehen. */

/** @type {typeof import("../en/profile.js").default} */
const profile = {
  title: "Profil",
  email: "E-Mail",
  confirmed: "bestätigt",
  unconfirmed: "noch nicht bestätigt",
  refused: (moment) =>
    `Mailserver nehmen seit ${moment} nichts für diese Adresse an. Von Störungen erfahren Sie erst wieder, wenn sie etwas annehmen.`,
  plan: "Tarif",
  limits: "Was Sie haben",
  what: "Wovon",
  used: "Benutzt",
  most: "Höchstens",
  rates: (requests, reports) =>
    `Jeder Schlüssel darf ${requests} Anfragen in der Minute stellen. Listen von Seiten, Quellen und Ländern werden ${reports}-mal in der Minute gelesen.`,
  notify: "Benachrichtigungen",
  notifyLabel: "Schreibt mir eine E-Mail, wenn ein Konto Hilfe braucht, und wenn es sie nicht mehr braucht",
  notifyHint: "Solange das aus ist, wird nichts gesendet, auch später nichts über das, was inzwischen geschah.",
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
  sessions: {
    title: "Wo Sie angemeldet sind",
    browser: "Browser",
    since: "Seit",
    used: "Zuletzt benutzt",
    current: "Diese hier",
    end: "Beenden",
    endOf: (browser) => `Sitzung von ${browser} beenden`,
    endOthers: "Alle anderen beenden",
    endAll: "Überall abmelden",
  },
  export: {
    title: "Ihre Daten",
    text: "Konten, Websites, Links, alle Summen und der Verlauf eines Jahres in einer ZIP-Datei. Kein Passwort, Schlüssel oder Token ist darin.",
    submit: "Alles herunterladen",
    done: "Die Datei liegt bei Ihren Downloads.",
  },
  leave: {
    title: "Mich löschen",
    text: "Sie selbst und alles, was hier von Ihnen gespeichert ist. Laden Sie vorher herunter, was Sie behalten wollen.",
    ask: "Mich löschen…",
    sure: "Sie und alles, was Ihnen gehört, löschen?",
    order: [
      "Sie werden überall abgemeldet, und kein Schlüssel gilt mehr.",
      "Jedes Konto wird getrennt: Routen, Worker und Datenbank werden bei Cloudflare entfernt.",
      "Alle Summen gehen, dann alles andere.",
      "Was nicht zu entfernen war, steht hier, ein einziges Mal.",
    ],
    minutes: "Das dauert Sekunden, bei vielen Konten Minuten. Es gibt kein Zurück.",
    submit: "Mich löschen",
    gone: "Sie sind gelöscht",
    goneText: "Von Ihnen ist hier nichts mehr gespeichert.",
    onlyHere: "Das Folgende steht nur dieses eine Mal hier: Kopieren Sie es, bevor Sie gehen.",
    tokens: "Tokens, die Sie widerrufen müssen",
    tokensText:
      "Sie können sich nicht selbst löschen. Widerrufen Sie sie bei Cloudflare, unter Manage account → API tokens.",
    left: "Was noch bei Cloudflare ist",
    done: "Ich habe, was ich brauche",
  },
};

export default profile;
