/** The activity page: actions and who performed them. */

/** @type {Record<import("../../wire").Event["action"], string>} */
const actions = {
  "user.sign_up": "Signed up",
  "user.confirm": "Email address confirmed",
  "user.change": "Email settings changed",
  "plan.change": "Plan changed",
  "password.reset": "Password reset by email",
  "password.change": "Password changed",
  "password.refuse": "Wrong password entered",
  "session.begin": "Signed in",
  "session.end": "Signed out",
  "key.issue": "API key created",
  "key.change": "API key renamed",
  "key.revoke": "API key revoked",
  "account.connect": "Account connected",
  "account.change": "Account changed",
  "account.renew": "Token renewed",
  "account.install": "Worker installed",
  "account.update": "Worker updated",
  "account.disconnect": "Account disconnected",
  "account.check": "Account repaired",
  "account.state": "Account status changed",
  "link_host.set": "Link host set",
  "site.create": "Site added",
  "site.change": "Site changed",
  "site.delete": "Site deleted",
  "site.rotate": "Snippet replaced",
  "link.create": "Link created",
  "link.change": "Link changed",
  "link.delete": "Link deleted",
  "totals.import": "Totals imported",
};

/** @type {Record<string, string | undefined>} by an event's `via`, unless that is the id of an API key */
const via = {
  session: "Signed-in user",
  mail: "Email link",
  nobody: "Not signed in",
  service: "Service",
  operator: "Operator",
};

export default {
  title: "Activity",
  intro: "All changes of the last year: by you, by your API keys and by the service itself.",
  none: "No activity yet.",
  what: "Action",
  target: "Object",
  you: "You",
  session: "Session",
  when: "When",
  who: "Who",
  byKey: (/** @type {string} */ key) => `API key ${key}`,
  from: "IP address",
  nowhere: "–",
  outcome: "Result",
  done: "Done",
  accepted: "Started",
  actions,
  via,
};
