/** Felder der Anmeldung und der Dialog, der eine erneute Anmeldung verlangt. */

/** @type {typeof import("../en/session.js").default} */
const session = {
  email: "E-Mail",
  password: "Passwort",
  showPassword: "Passwort anzeigen",
  again: {
    title: "Anmelden, um fortzufahren",
    explain: "Ihre Sitzung ist abgelaufen. Ihre Eingaben sind noch da und werden nach der Anmeldung gesendet.",
    submit: "Anmelden und fortfahren",
    giveUp: "Verwerfen",
  },
  sendAgain: "E-Mail erneut senden",
  sentAgain: "Die E-Mail wurde erneut gesendet.",
};

export default session;
