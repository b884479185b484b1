/** Notes on the days of a report. */

/** @typedef {NonNullable<import("../../wire").Note["kind"]>} Kind */
/** @typedef {Record<string, string>} Facts `since` and `until` are formatted days */

/** @type {Record<Kind, (facts: Facts) => string>} */
const automatic = {
  imported: ({ until }) =>
    `Counts up to ${until} were imported from another product. Later counts are from this service.`,
  snippet_rotated: ({ until }) => `Snippet replaced. Views with the old snippet are counted until ${until}.`,
  worker_updated: () => "Worker updated.",
  hours_refused: ({ hours }) =>
    `Most of the day's free quota of database rows was used, so hourly counts are missing for ${hours} h. The day's total is complete.`,
  route_missing: ({ since, until }) =>
    until
      ? `The site's route was found missing on ${since} and restored on ${until}. Views during this time and shortly before it were not counted.`
      : `The site's route was found missing on ${since}. Views are not counted until it is restored.`,
  link_host_route_missing: ({ host, since, until }) =>
    until
      ? `The route of the link host ${host} was found missing on ${since} and restored on ${until}. During this time and shortly before it, links did not work.`
      : `The route of the link host ${host} was found missing on ${since}. Links do not work until it is restored.`,
};

export default {
  title: "Notes",
  add: "Add note",
  none: "Explain what happened on a day, such as a newsletter or a relaunch. Notes are marked on the chart.",
  addTitle: "Add a note",
  editTitle: "Change the note",
  deleteTitle: "Delete this note?",
  deleteAutomatic: "The service created this note. If you delete it, the service will not create it again.",
  day: "Day (UTC)",
  text: "Note",
  on: "Show for",
  targets: { site: "this site", link: "this link", account: "all sites and links of the account" },
  save: "Save",
  edit: "Edit",
  editNamed: (/** @type {string} */ text) => `Edit: ${text}`,
  delete: "Delete",
  deleteNamed: (/** @type {string} */ text) => `Delete: ${text}`,
  wholeAccount: "Whole account",
  automatic: "Automatic",
  saved: "Note saved.",
  savedElsewhere: (/** @type {string} */ day) => `Note saved on ${day}, which is outside this period.`,
  deleted: "Note deleted.",
  showAll: (/** @type {string} */ count) => `Show all ${count} notes`,
  showFewer: "Show fewer",
  limited: "Only the first 1,000 notes of this period are shown. Select a shorter period.",
  texts: automatic,
};
