/** Konten und wie eines verbunden wird. */

/** @type {typeof import("../en/accounts.js").default} */
const accounts = {
  title: "Konten",
  connect: "Konto verbinden",
};

export default accounts;
