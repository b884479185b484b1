/** What was changed, by whom. */

/** @type {Record<import("../../wire").Event["action"], string>} */
const actions = {
  "user.sign_up": "Signed up",
  "user.confirm": "Address confirmed",
  "user.change": "Notifications switched",
  "plan.change": "Plan changed",
  "password.reset": "Password set by mail",
  "password.change": "Password changed",
  "password.refuse": "Wrong password",
  "session.begin": "Signed in",
  "session.end": "Signed out",
  "key.issue": "Key made",
  "key.change": "Key renamed",
  "key.revoke": "Key revoked",
  "account.connect": "Account connected",
  "account.change": "Account changed",
  "account.renew": "Token renewed",
  "account.install": "Worker installed",
  "account.update": "Worker updated",
  "account.disconnect": "Account disconnected",
  "account.check": "Account mended",
  "account.state": "Account’s state",
  "link_host.set": "Link host set",
  "site.create": "Site added",
  "site.change": "Site changed",
  "site.delete": "Site deleted",
  "site.rotate": "Snippet replaced",
  "link.create": "Link made",
  "link.change": "Link changed",
  "link.delete": "Link deleted",
  "totals.import": "Totals imported",
};

/** @type {Record<string, string | undefined>} by an event's `via`, where that is no key */
const via = {
  session: "Somebody signed in",
  mail: "By a link in an e-mail",
  nobody: "Somebody not signed in",
  service: "The service itself",
  operator: "The operator",
};

export default {
  title: "History",
  intro: "Every change of the last year: yours, those of your keys, and what the service did by itself.",
  none: "Nothing was changed yet.",
  what: "What",
  target: "Of what",
  you: "You",
  session: "A session",
  when: "When",
  who: "Who",
  byKey: (/** @type {string} */ key) => `Key ${key}`,
  from: "From",
  nowhere: "–",
  outcome: "Outcome",
  done: "Done",
  accepted: "Begun",
  actions,
  via,
};
