/** Who I am here, and how the pages look. */

export default {
  title: "Profile",
  email: "E-mail",
  confirmed: "confirmed",
  unconfirmed: "not confirmed yet",
  plan: "Plan",
  look: "In this browser",
  theme: "Theme",
  language: "Language",
  asBrowser: "As the browser",
  shortcuts: "Keyboard shortcuts",
  shortcutsHint: "One-letter keys, as j, k or n; ? shows them all.",
  on: "On",
  off: "Off",
  oldPassword: "Password now",
  setPassword: "Change the password",
  passwordSet: "Changed. Every other session has ended; this one goes on.",
  session: "Session",
};
