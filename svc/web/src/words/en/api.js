/**
 * Texts for codes in API responses other than errors: field issues, health check findings and remaining resources of a
 * disconnect. For codes without an English text, the pages show the text of the API.
 */

/**
 * @typedef {Record<string, string | undefined>} Facts
 * @typedef {{
 *   issues: Record<string, (limit: number) => string>,
 *   findings: Record<string, (facts: Facts) => [thing: string, expected: string, found: string]>,
 *   left: Record<string, (facts: Facts, why: string) => string>,
 *   whys: Record<string, (facts: Facts) => string>,
 * }} Api
 */

/** @type {Api["issues"]} */
const issues = {
  required: () => "This field is required.",
  too_long: (limit) => `Use at most ${limit} characters.`,
  too_short: (limit) => `Use at least ${limit} characters.`,
  too_many: (limit) => `Enter at most ${limit} items.`,
  too_few: (limit) => (limit === 1 ? "Select at least one." : `Enter at least ${limit} items.`),
  too_large: (limit) => `Enter ${limit} or less.`,
  too_small: (limit) => `Enter ${limit} or more.`,
  wrong_form: () => "The format is not valid.",
  not_host: () => "Enter a host such as shop.example.com.",
  not_https: () => "Enter a URL that starts with https://. Percent-encode spaces and other special characters.",
  not_network: () => "Enter an IP address or range, such as 192.0.2.7 or 2001:db8::/32.",
  not_email: () => "Enter an email address.",
  weak_password: () =>
    "Choose a password of at least 8 characters that is hard to guess, such as several unrelated words.",
  reserved_code: () => "Browsers and bots request this path automatically. Choose another code.",
};

export default /** @type {Api} */ ({ issues, findings: {}, left: {}, whys: {} });
