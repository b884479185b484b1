/** Profil: Benutzer, Limits, Einstellungen dieses Browsers, Passwort, Sitzungen, Export und Löschung. */

/** @type {typeof import("../en/profile.js").default} */
const profile = {
  title: "Profil",
  email: "E-Mail",
  confirmed: "bestätigt",
  unconfirmed: "noch nicht bestätigt",
  refused: (moment) =>
    `Mailserver weisen diese Adresse seit ${moment} ab. Sie erhalten keine Benachrichtigungen, bis ein Mailserver wieder eine E-Mail an Sie annimmt.`,
  plan: "Tarif",
  plans: { free: "Kostenlos", api: "API" },
  limits: "Nutzung und Limits",
  of: (used, most) => `${used} von ${most}`,
  rates: (requests, reports) =>
    `Pro Minute: ${requests} Anfragen je API-Schlüssel, ${reports} Datenbankabfragen für Berichte.`,
  notify: "Benachrichtigungen",
  notifyLabel:
    "E-Mail an mich, wenn ein Konto Aufmerksamkeit erfordert, wenn das Problem behoben ist und wenn Ziele meiner Links nicht erreichbar sind",
  notifyHint: "Solange dies ausgeschaltet ist, werden diese E-Mails nicht gesendet, auch nicht nachträglich.",
  look: "Dieser Browser",
  theme: "Darstellung",
  language: "Sprache",
  asBrowser: "Wie im Browser",
  emails: { en: "Sie erhalten E-Mails auf Englisch.", de: "Sie erhalten E-Mails auf Deutsch." },
  shortcuts: "Tastenkürzel",
  shortcutsHint: "Einzelne Tasten wie j, k oder n. Mit ? werden alle angezeigt.",
  on: "An",
  off: "Aus",
  changeEmail: "E-Mail-Adresse ändern",
  newEmail: "Neue E-Mail-Adresse",
  pendingEmail: (email, moment) =>
    `Bestätigung ausstehend: Um Ihre E-Mail-Adresse zu ändern, öffnen Sie den Link, den wir an ${email} gesendet haben. Der Link gilt bis ${moment}.`,
  cancelEmail: "Änderung abbrechen",
  yourPassword: "Ihr Passwort",
  sendLink: "Link senden",
  linkSent: (email) =>
    `Falls ${email} verfügbar ist, haben wir einen Link dorthin gesendet. Ihre E-Mail-Adresse ändert sich, wenn Sie ihn öffnen.`,
  oldPassword: "Aktuelles Passwort",
  setPassword: "Passwort ändern",
  passwordSet: "Passwort geändert. Alle anderen Sitzungen wurden beendet.",
  sessions: {
    title: "Aktive Sitzungen",
    browser: "Browser",
    named: (browser) => browser.replace(/ on (?=\S+$)/, " unter "),
    since: "Angemeldet",
    used: "Zuletzt verwendet",
    current: "Diese Sitzung",
    end: "Beenden",
    endOf: (browser) => `Sitzung von ${browser} beenden`,
    endOthers: "Alle anderen beenden",
    endAll: "Überall abmelden",
  },
  export: {
    title: "Ihre Daten",
    text: "Konten, Websites, Links, alle Summen und der Verlauf eines Jahres als ZIP-Datei. Sie enthält keine Passwörter, Schlüssel oder Tokens.",
    submit: "Meine Daten herunterladen",
    done: "Die Datei liegt in Ihren Downloads.",
  },
  leave: {
    title: "Benutzerkonto löschen",
    text: "Löscht Ihr Benutzerkonto und alle Ihre Daten hier. Laden Sie vorher Ihre Daten herunter, wenn Sie eine Kopie behalten möchten.",
    ask: "Benutzerkonto löschen…",
    sure: "Ihr Benutzerkonto und alle Daten löschen?",
    order: [
      "Sie werden überall abgemeldet, und Ihre API-Schlüssel werden ungültig.",
      "Alle Cloudflare-Konten werden getrennt: Routen, Worker und Datenbanken werden entfernt.",
      "Ihre Statistiken werden gelöscht, danach alle übrigen Daten.",
      "Was sich nicht entfernen ließ, wird am Ende aufgelistet. Die Liste wird nur einmal angezeigt.",
    ],
    minutes: "Das dauert meist Sekunden, bei vielen Konten Minuten. Das Löschen lässt sich nicht rückgängig machen.",
    submit: "Benutzerkonto löschen",
    gone: "Ihr Benutzerkonto wurde gelöscht",
    goneText: "Von Ihnen sind hier keine Daten mehr gespeichert.",
    onlyHere: "Diese Angaben werden nur einmal angezeigt. Kopieren Sie sie, bevor Sie die Seite verlassen.",
    tokens: "Zu widerrufende Tokens",
    tokensText:
      "Der Dienst konnte diese Tokens nicht löschen. Widerrufen Sie sie im Cloudflare-Dashboard unter Manage Account → Account API Tokens.",
    left: "Noch bei Cloudflare vorhanden",
    done: "Fertig",
  },
};

export default profile;
