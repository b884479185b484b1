/** Was andere Seiten von Konten sagen; das Übrige steht in account.js. */

/** @type {typeof import("../en/accounts.js").default} */
const accounts = {
  title: "Konten",
  connect: "Konto verbinden",
};

export default accounts;
