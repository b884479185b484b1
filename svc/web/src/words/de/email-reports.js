/** E-Mail-Berichte in den Einstellungen einer Website und auf der Seite eines Kontos. */

/** @type {typeof import("../en/email-reports.js").default} */
const emailReports = {
  title: "E-Mail-Berichte",
  explain: {
    site: "Senden Sie Berichte über diese Website per E-Mail, auch an Personen ohne Benutzerkonto.",
    account:
      "Senden Sie einen Bericht über alle Websites dieses Kontos per E-Mail, auch an Personen ohne Benutzerkonto.",
  },
  help: "So funktionieren E-Mail-Berichte (englisch)",
  weekly: "Wochenbericht, montags",
  monthly: "Monatsbericht, am Ersten des Monats",
  alerts: "Warnungen, wenn es ungewöhnlich viele, ungewöhnlich wenige oder keine Aufrufe gibt",
  next: (day) => `nächster am ${day}`,
  recipients: "Empfänger",
  none: "Noch keine Empfänger.",
  add: "Empfänger hinzufügen",
  addHint: "E-Mail-Adressen, eine pro Zeile. Neue Empfänger erhalten eine E-Mail und müssen zustimmen.",
  languages: { en: "English", de: "Deutsch" },
  languageOf: (email) => `Sprache der E-Mails an ${email}`,
  states: { unconfirmed: "Nicht bestätigt", confirmed: "Bestätigt", unsubscribed: "Abbestellt" },
  asked: "E-Mail zur Bestätigung gesendet:",
  notAsked: "Keine E-Mail zur Bestätigung gesendet, weil das Tageslimit erreicht ist. Speichern Sie morgen erneut.",
  unsubscribed: "Nur der Empfänger kann die Berichte wieder abonnieren.",
  remove: "Entfernen",
  removeNamed: (email) => `Entfernen: ${email}`,
  save: "E-Mail-Berichte speichern",
  saved: "Gespeichert.",
};

export default emailReports;
