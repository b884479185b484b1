/** Texts about accounts that other pages use too. account.js has the others. */

export default {
  title: "Accounts",
  connect: "Connect an account",
};
