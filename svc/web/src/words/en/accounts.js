/** Texts about accounts that several pages use. account.js has the other texts about accounts. */

export default {
  title: "Accounts",
  connect: "Connect an account",
};
