/** What other pages say of accounts; the rest is in account.js. */

export default {
  title: "Accounts",
  connect: "Connect an account",
};
