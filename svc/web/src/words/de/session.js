/** Wer angemeldet ist, und wie man es wieder wird. */

/** @type {typeof import("../en/session.js").default} */
const session = {
  email: "E-Mail",
  password: "Passwort",
  showPassword: "Passwort zeigen",
  again: {
    title: "Anmelden und weiter",
    explain: "Ihre Sitzung war abgelaufen. Was Sie eingegeben haben, ist noch da; nach der Anmeldung geht es weiter.",
    submit: "Anmelden und weiter",
    giveUp: "Verwerfen",
  },
  sendAgain: "Noch einmal senden",
  sentAgain: "Er ist noch einmal unterwegs.",
};

export default session;
