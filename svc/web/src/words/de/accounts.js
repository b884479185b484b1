/** Texte über Konten, die auch andere Seiten verwenden. Die übrigen stehen in account.js. */

/** @type {typeof import("../en/accounts.js").default} */
const accounts = {
  title: "Konten",
  connect: "Konto verbinden",
};

export default accounts;
