/** Sign-in fields and the dialog that asks a user to sign in again. */

const session = {
  email: "Email",
  password: "Password",
  showPassword: "Show password",
  again: {
    title: "Sign in to continue",
    explain: "Your session has expired. Your input is still here and will be sent once you have signed in.",
    submit: "Sign in and continue",
    giveUp: "Discard",
  },
  sendAgain: "Resend email",
  sentAgain: "The email was sent again.",
};

export default session;
