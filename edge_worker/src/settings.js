/** The account's settings. The service writes them to the row `days_kept` of the table `config`. */

/**
 * Maximum number of days to keep. A report on the last 30 days needs 30 of them. The others allow for differences
 * between the clocks of the Worker and the service.
 */
export const MAX_DAYS = 35;
export const MIN_DAYS = 14;
/**
 * The smallest number of months that an account can keep, not counting the current month. By default, months are kept
 * permanently.
 */
const MIN_MONTHS = 6;

/**
 * @typedef {object} Settings
 * @property {number} days number of days to keep
 * @property {number} months number of past months to keep
 * @property {boolean} paid true if the account has a paid plan at Cloudflare
 *
 * @param {unknown} body of the row, undefined or null if there is none
 * @returns {Settings}
 */
export function settingsOf(body) {
  const { days, months, plan } = parsed(body);
  // An invalid setting must not delete data early, so the defaults are the maximum.
  return {
    days: Math.min(MAX_DAYS, Math.max(MIN_DAYS, integer(days) ?? MAX_DAYS)),
    months: Math.max(MIN_MONTHS, integer(months) ?? Infinity),
    paid: plan === "paid",
  };
}

/** @param {unknown} value @returns {number | undefined} the value if it is a valid integer */
const integer = (value) => (Number.isSafeInteger(value) ? /** @type {number} */ (value) : undefined);

/** @param {unknown} body @returns {Record<string, unknown>} */
function parsed(body) {
  if (typeof body !== "string") return {};
  try {
    return Object(JSON.parse(body));
  } catch {
    return {};
  }
}
