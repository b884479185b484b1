/** Email reports in the settings of a site and on the page of an account. */

export default {
  title: "Email reports",
  explain: {
    site: "Send reports about this site by email. Recipients do not need a user account here.",
    account: "Send one report about all sites of this account by email. Recipients do not need a user account here.",
  },
  help: "How email reports work",
  weekly: "Weekly report, on Mondays",
  monthly: "Monthly report, on the first of the month",
  alerts: "Alerts about spikes, drops and missing views",
  next: (/** @type {string} */ day) => `next on ${day}`,
  recipients: "Recipients",
  none: "No recipients yet.",
  add: "Add recipients",
  addHint: "Email addresses, one per line. Each new recipient gets an email and has to confirm.",
  languages: { en: "English", de: "Deutsch" },
  languageOf: (/** @type {string} */ email) => `Language of emails to ${email}`,
  states: { unconfirmed: "Not confirmed", confirmed: "Confirmed", unsubscribed: "Unsubscribed" },
  asked: "Confirmation email sent:",
  notAsked: "No confirmation email sent, because the daily limit has been reached. Save again tomorrow.",
  unsubscribed: "Only the recipient can subscribe again.",
  remove: "Remove",
  removeNamed: (/** @type {string} */ email) => `Remove: ${email}`,
  save: "Save email reports",
  saved: "Saved.",
};
