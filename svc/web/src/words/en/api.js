/**
 * Texts for codes in API responses, except error codes: field issues, health check findings and resources that remain
 * after a disconnect. Every field issue has a text, because the API's own texts are parts of sentences. For other codes
 * without an English text, the pages show the text of the API.
 */

import { plural } from "../../format.js";

/**
 * @typedef {Record<string, string | undefined>} Facts
 * @typedef {{
 *   issues: Record<string, (limit: number, message: string) => string>,
 *   findings: Record<string, (facts: Facts) => [thing: string, expected: string, found: string]>,
 *   left: Record<string, (facts: Facts, why: string) => string>,
 *   whys: Record<string, (facts: Facts) => string>,
 * }} Api
 */

/** @type {Api["issues"]} */
const issues = {
  required: () => "This field is required.",
  unknown: () => "This field is not supported. Remove it.",
  twice: () => "Enter this value only once.",
  not_json: () => "Enter valid JSON.",
  not_object: () => "Enter a JSON object.",
  not_list: () => "Enter a list.",
  not_text: () => "Enter text.",
  not_boolean: () => "Enter true or false.",
  not_integer: () => "Enter a whole number.",
  too_long: (limit) => `Use at most ${limit} characters.`,
  too_short: (limit) => `Use at least ${limit} characters.`,
  too_many: (limit) => `Enter at most ${limit} items.`,
  too_few: (limit) => plural(limit, { one: "Select at least one.", other: "Enter at least # items." }),
  too_large: (limit) => `Enter ${limit} or less.`,
  too_small: (limit) => `Enter ${limit} or more.`,
  too_much: () => "There are too many fields, lists or items.",
  not_offered: () => "Select one of the available values.",
  wrong_form: () => "The format is not valid.",
  not_host: () => "Enter a host such as shop.example.com.",
  not_https: () => "Enter a URL that starts with https://. Percent-encode spaces and other special characters.",
  not_path: () =>
    "Enter a path that starts with / and contains no ?, # or \\. Views are counted by path, without the query.",
  not_network: () => "Enter an IP address or range, such as 192.0.2.7 or 2001:db8::/32.",
  not_email: () => "Enter an email address.",
  not_token: () => "Enter an API token.",
  not_day: () => "Enter a date such as 2026-11-21.",
  in_future: () => "Enter today or an earlier day.",
  end_before_start: () => "Enter a later end date or time.",
  too_early: () => "Enter a later first day. A report covers at most 100 years.",
  too_many_points: (limit) => `Select a longer interval. The chart would have more than ${limit} points.`,
  hours_not_stored: () =>
    "Hourly counts for these days are no longer stored. Select another interval or more recent days.",
  not_combinable: () => "This value cannot be combined with the other values.",
  low_contrast: () => "Choose a color for the code that is clearly darker than its background.",
  not_readable: (_, message) => `This file cannot be imported: ${message}.`,
  reserved_code: () => "Browsers and bots request this path automatically. Choose another code.",
  weak_password: () =>
    "Choose a password of at least 8 characters that is hard to guess, such as several unrelated words.",
  used_token: () => "This link is not valid, has expired, or was already used. Request a new email.",
  on_link_host: () => "The destination cannot be on the link host. Enter another URL.",
  target_of_link: () => "A link in this account points to this host. Delete the link or change its destination first.",
  target_of_fallback: () => "The link host has a redirect to this host. Change the redirect first.",
  other: () => "This value is not valid.",
};

export default /** @type {Api} */ ({ issues, findings: {}, left: {}, whys: {} });
