/** The statement of counts below the totals of a report. */

export default {
  counts: (/** @type {string} */ arrived, /** @type {string} */ counted, /** @type {string} */ stored) =>
    `${arrived} arrived, ${counted} counted, ${stored} stored`,
  verdicts: {
    agrees: () => "all numbers agree, bots included",
    open: () => "the numbers agree so far; the current hour is added after it ends",
    lost: (/** @type {string} */ dropped) => `${dropped} could not be counted`,
    differs: () => "the numbers do not agree",
  },
  nothing: "Nothing arrived on this day",
  unavailable: "No statement of counts available",
  unknown: "No statement of counts for this day",
  soon: "Statement of counts available within an hour",
  full: "Statement of counts",
};
