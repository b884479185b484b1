/** Who is signed in, and how somebody does so again. */

const session = {
  email: "E-mail",
  password: "Password",
  showPassword: "Show the password",
  again: {
    title: "Sign in to go on",
    explain: "Your session's time was over. What you have typed is still here, and goes on once you have signed in.",
    submit: "Sign in and go on",
    giveUp: "Leave it",
  },
  sendAgain: "Send again",
  sentAgain: "It is on its way once more.",
};

export default session;
