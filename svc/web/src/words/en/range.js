/** The period of a report, its interval and comparison, and messages about missing breakdowns. */

/** @typedef {"hour" | "day" | "week" | "month"} Step */

export default {
  label: "Period, interval and comparison",
  other: "Other period",
  periods: {
    yesterday: "Yesterday",
    month: "This month",
    last_month: "Last month",
    "12mo": "12 months",
    year: "This year",
    all: "All time",
  },
  from: "From (UTC)",
  to: "To (UTC)",
  show: "Show",
  earlier: "Earlier",
  later: "Later",
  by: "By",
  steps: { hour: "Hour", day: "Day", week: "Week", month: "Month" },
  parts: { hour: "Hour (UTC)", day: "Day (UTC)", week: "Week (UTC)", month: "Month (UTC)" },
  compare: "Compare with",
  comparisons: { off: "Nothing", previous: "Previous period", year: "Previous year" },
  versus: (/** @type {string} */ part) => `compared with ${part}`,
  problem: "This period cannot be shown.",
  fields: { period: "Period", from: "From", to: "To", by: "By", compare: "Compare with" },
  back: "Show the last 7 days",
  missing: {
    not_kept: (/** @type {string} */ days) =>
      `There are no breakdowns for ${days} (UTC), because the account's Worker has deleted them. The totals are complete.`,
    imported: (/** @type {string} */ days) =>
      `There are no breakdowns for ${days} (UTC), because only the totals of these days were imported from another product.`,
    not_counted: (/** @type {string} */ days, /** @type {string} */ lists) =>
      `Some lists are incomplete for ${days} (UTC): ${lists}. An older version of the Worker ran on some of these days.`,
    unavailable: (/** @type {string} */ days) =>
      `The breakdowns for ${days} (UTC) could not be loaded. Reload the page to try again.`,
  },
  exportDays: "Export all days as CSV",
  lists: {
    campaigns: "campaigns",
    entries: "entry pages",
    arrivals: "entry pages by source",
    targets: "destinations",
  },
  export: "Export this report as CSV",
};
