/** Pages for signed-out users: sign-in, sign-up, email confirmation, password reset; and the "not found" page. */

export default {
  newPassword: "New password",
  passwordHint: "8 to 200 characters. Spaces are allowed.",
  about: {
    label: (/** @type {string} */ product) => `About ${product}`,
    lead: (/** @type {string} */ product) =>
      `${product} counts page views and serves short links in your own Cloudflare account.`,
    facts: [
      "No cookies. Nothing is stored in visitors' browsers, and their IP addresses are not stored.",
      "Each view is counted once, and you can check this with a statement of counts.",
      "The Worker stays within the database limits of Cloudflare's free plan.",
    ],
    example: "Example",
  },
  signIn: {
    title: "Sign in",
    submit: "Sign in",
    wrong: "Wrong email address or password.",
    forgot: "Forgot your password?",
    isNew: "New here?",
    signUp: "Create account",
    expired: "Your session has expired. Sign in to continue.",
    elsewhere: "You signed out in another tab.",
    left: "You are signed out.",
  },
  signUp: {
    title: "Sign up",
    submit: "Sign up",
    known: "Already signed up?",
    closed: "Sign-up is closed. Only the operator can add users.",
    inviteOnly: "Sign-up requires an invitation. Open the link in your invitation, or ask the operator for one.",
    badInvitation:
      "This invitation has expired, was revoked or has already been used. Ask the operator for a new invitation.",
    contact: "Contact the operator:",
    invited: (/** @type {string} */ until) => `The operator has invited you. The invitation expires on ${until}.`,
    sent: "Check your inbox",
    sentTo: (/** @type {string} */ email) => `We sent a link to ${email}. It is valid for 24 hours.`,
    wrongAddress: "Wrong address?",
    meanwhile: "You can sign in now. Confirm your email address before you connect an account.",
  },
  confirm: {
    title: "Confirm your email address",
    explain: "This confirms that the address is yours.",
    submit: "Confirm email address",
    done: "Email address confirmed",
    goOn: "Continue",
    stale: "This link has expired or has already been used.",
    fresh: "Send a new link",
  },
  forgot: {
    title: "Reset your password",
    explain: "We will email you a link. Your password does not change until you use it.",
    submit: "Send link",
    sent: "Check your inbox",
    sentTo: (/** @type {string} */ email) =>
      `If ${email} is registered here, we sent a link to it. The link is valid for 24 hours.`,
    back: "Back to sign-in",
  },
  reset: {
    title: "Choose a new password",
    explain: "You will be signed out on all devices.",
    submit: "Set password",
    done: "Password changed",
    doneText: "You have been signed out on all devices. Sign in with your new password.",
    stale: "This link has expired or has already been used.",
    fresh: "Request a new link",
  },
  missing: {
    title: "Page not found",
    text: "Check the address, or start from the overview.",
    home: "Go to overview",
  },
};
