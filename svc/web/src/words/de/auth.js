/** Seiten vor der Anmeldung: Anmeldung, Registrierung, Bestätigung der E-Mail, neues Passwort; „nicht gefunden“. */

// The headings contain non-breaking hyphens (U+2011), so that narrow screens do not break them within “E‑Mail”.
/** @type {typeof import("../en/auth.js").default} */
const auth = {
  newPassword: "Neues Passwort",
  passwordHint: "8 bis 200 Zeichen, auch Leerzeichen.",
  about: {
    label: (product) => `Über ${product}`,
    lead: (product) => `${product} zählt Seitenaufrufe und betreibt Kurzlinks in Ihrem eigenen Cloudflare-Konto.`,
    facts: [
      "Im Browser Ihrer Besucher wird nur dann ein Cookie gespeichert, wenn sie die Zählung ausschalten. IP-Adressen werden nicht gespeichert.",
      "Jeder Aufruf wird einmal gezählt. Sie können das mit einem täglichen Zählnachweis prüfen.",
      "Der Worker in Ihrem Konto bleibt innerhalb der Datenbank-Limits des kostenlosen Cloudflare-Tarifs.",
    ],
    example: "Beispiel",
  },
  signIn: {
    title: "Anmelden",
    submit: "Anmelden",
    wrong: "E-Mail-Adresse oder Passwort ist falsch.",
    forgot: "Passwort vergessen?",
    isNew: "Neu hier?",
    signUp: "Registrieren",
    expired: "Ihre Sitzung ist abgelaufen. Melden Sie sich an, um fortzufahren.",
    elsewhere: "Sie haben sich in einem anderen Tab abgemeldet.",
    left: "Sie sind abgemeldet.",
  },
  signUp: {
    title: "Registrieren",
    submit: "Registrieren",
    known: "Schon registriert?",
    closed: "Die Registrierung ist geschlossen. Nur der Betreiber kann Benutzer hinzufügen.",
    inviteOnly:
      "Für die Registrierung brauchen Sie eine Einladung. Öffnen Sie den Link in Ihrer Einladung, oder bitten Sie den Betreiber um eine.",
    badInvitation:
      "Diese Einladung ist abgelaufen, wurde widerrufen oder schon verwendet. Bitten Sie den Betreiber um eine neue.",
    contact: "Kontakt zum Betreiber:",
    invited: (until) => `Der Betreiber hat Sie eingeladen. Die Einladung läuft am ${until} ab.`,
    sent: "Prüfen Sie Ihr Postfach",
    sentTo: (email) => `Wir haben einen Link an ${email} gesendet. Er ist 24 Stunden gültig.`,
    wrongAddress: "Falsche Adresse?",
    meanwhile: "Sie können sich jetzt anmelden. Bestätigen Sie Ihre E-Mail-Adresse, bevor Sie ein Konto verbinden.",
  },
  confirm: {
    title: "E‑Mail‑Adresse bestätigen",
    explain: "Damit bestätigen Sie, dass die Adresse Ihnen gehört.",
    submit: "E-Mail-Adresse bestätigen",
    done: "E‑Mail‑Adresse bestätigt",
    goOn: "Weiter",
    stale: "Dieser Link ist abgelaufen oder wurde schon verwendet.",
    fresh: "Neuen Link senden",
  },
  forgot: {
    title: "Passwort zurücksetzen",
    explain: "Wir senden Ihnen einen Link per E-Mail. Ihr Passwort ändert sich erst, wenn Sie ein neues festlegen.",
    submit: "Link senden",
    sent: "Prüfen Sie Ihr Postfach",
    sentTo: (email) =>
      `Falls ${email} hier registriert ist, haben wir einen Link an diese Adresse gesendet. Er ist 24 Stunden gültig.`,
    back: "Zurück zur Anmeldung",
  },
  reset: {
    title: "Neues Passwort wählen",
    explain: "Sie werden auf allen Geräten abgemeldet.",
    submit: "Passwort speichern",
    done: "Passwort geändert",
    doneText: "Sie wurden auf allen Geräten abgemeldet. Melden Sie sich mit dem neuen Passwort an.",
    stale: "Dieser Link ist abgelaufen oder wurde schon verwendet.",
    fresh: "Neuen Link anfordern",
  },
  newEmail: {
    title: "Neue E‑Mail‑Adresse bestätigen",
    explain:
      "Nach der Bestätigung melden Sie sich mit dieser Adresse an. Ihre anderen Sitzungen werden beendet, API-Schlüssel bleiben gültig.",
    submit: "E-Mail-Adresse ändern",
    done: "E‑Mail‑Adresse geändert",
    doneText: "Melden Sie sich ab jetzt mit Ihrer neuen E-Mail-Adresse an.",
    goOn: "Weiter",
    stale: "Dieser Link ist abgelaufen oder wurde schon verwendet, oder die Adresse ist nicht verfügbar.",
    fresh: "Änderung erneut anfordern",
  },
  revertEmail: {
    title: "E‑Mail‑Adresse behalten",
    explain:
      "Um diese E-Mail-Adresse zu behalten, auch wenn sie schon geändert wurde, legen Sie ein neues Passwort fest. Alle Sitzungen werden beendet.",
    submit: "E-Mail-Adresse behalten",
    done: "E‑Mail‑Adresse beibehalten",
    doneText:
      "Melden Sie sich mit dieser E-Mail-Adresse und Ihrem neuen Passwort an. Prüfen Sie danach Ihre API-Schlüssel.",
    stale: "Dieser Link ist abgelaufen oder wurde schon verwendet.",
    fresh: "Passwort zurücksetzen",
  },
  missing: {
    title: "Seite nicht gefunden",
    text: "Prüfen Sie die Adresse, oder gehen Sie zur Übersicht.",
    home: "Zur Übersicht",
  },
};

export default auth;
