/** Accounts and how one is connected. */

export default {
  title: "Accounts",
  connect: "Connect an account",
};
