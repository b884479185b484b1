/** Was vor der Anmeldung kommt. */

/** @type {typeof import("../en/door.js").default} */
const door = {
  newPassword: "Neues Passwort",
  passwordHint: "8 bis 200 Zeichen, gleich welche; Leerzeichen zählen.",
  signIn: {
    title: "Anmelden",
    submit: "Anmelden",
    wrong: "Diese Adresse und dieses Passwort gehören nicht zusammen.",
    forgot: "Passwort vergessen?",
    isNew: "Neu hier?",
    signUp: "Registrieren",
    expired: "Ihre Sitzung war abgelaufen. Melden Sie sich an, um weiterzumachen.",
    elsewhere: "Sie haben sich in einem anderen Tab abgemeldet.",
    left: "Sie haben sich abgemeldet.",
  },
  signUp: {
    title: "Registrieren",
    submit: "Registrieren",
    known: "Schon registriert?",
    sent: "Sehen Sie in Ihre Post",
    sentTo: (email) => `Ein Link ist unterwegs an ${email}. Er gilt einen Tag.`,
    wrongAddress: "Falsche Adresse?",
    meanwhile: "Anmelden können Sie sich schon; ein Konto wird verbunden, sobald Ihre Adresse bestätigt ist.",
  },
  confirm: {
    title: "Adresse bestätigen",
    explain: "Ein Klick, damit niemand anders Ihre Adresse hier benutzt.",
    submit: "Meine Adresse bestätigen",
    done: "Ihre Adresse ist bestätigt",
    goOn: "Weiter",
    stale: "Dieser Link wurde schon benutzt oder ist älter als ein Tag.",
    fresh: "Einen neuen senden",
  },
  forgot: {
    title: "Neues Passwort",
    explain: "Wir senden einen Link an Ihre Adresse. Bis Sie ihn benutzen, bleibt Ihr Passwort, wie es ist.",
    submit: "Link senden",
    sent: "Sehen Sie in Ihre Post",
    sentTo: (email) => `Wenn ${email} hier bekannt ist, ist ein Link unterwegs. Er gilt einen Tag.`,
    back: "Zurück zur Anmeldung",
  },
  reset: {
    title: "Neues Passwort wählen",
    explain: "Damit enden alle Sitzungen, auch auf anderen Geräten.",
    submit: "Passwort setzen",
    done: "Ihr Passwort ist gesetzt",
    doneText: "Alle Sitzungen sind beendet. Melden Sie sich mit dem neuen an.",
    stale: "Dieser Link wurde schon benutzt oder gilt nicht mehr.",
    fresh: "Einen neuen anfordern",
  },
  missing: {
    title: "Diese Seite gibt es nicht",
    text: "Vielleicht ist die Adresse falsch geschrieben, oder was hier war, ist fort.",
    home: "Zur Übersicht",
  },
};

export default door;
