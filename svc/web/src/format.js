/** Localized formatting of numbers, dates, durations and countries. Days are UTC days and are labeled as such. */

import { textLanguage } from "./settings.js";

/**
 * The user's locale that matches the language of the interface. Invalid tags such as `en-US@posix` are skipped.
 * @returns {string} such as `en-GB` or `de-AT`
 */
export function locale() {
  const text = textLanguage();
  return firstValid(navigator.languages.filter((tag) => tag.split("-")[0] === text)) ?? text;
}

/** @param {readonly string[]} tags @returns {string | undefined} the first one that is a valid locale */
function firstValid(tags) {
  for (const tag of tags) {
    try {
      return Intl.getCanonicalLocales(tag)[0];
    } catch {
      // This tag is not valid. Try the next one.
    }
  }
  return undefined;
}

/** @type {Map<string, any>} */
const cache = new Map();

/**
 * @template T
 * @param {new (locale: string, options: any) => T} Kind an Intl class. Instances are cached, because creating an
 *   instance takes a hundred times as long as using it
 * @param {object} options
 * @param {string} [tag]
 * @returns {T}
 */
function intl(Kind, options, tag = locale()) {
  const name = `${tag} ${Kind.name} ${JSON.stringify(options)}`;
  if (!cache.has(name)) cache.set(name, new Kind(tag, options));
  return cache.get(name);
}

/**
 * Create the formats that most pages use. On first use, the browser loads its data about languages, which takes 30 ms
 * on a fast computer. Call this function while the page waits for the service, so that the user does not notice the
 * delay.
 */
export function createFormats() {
  const today = new Date().toISOString().slice(0, 10);
  for (const format of [number, short, percent]) format(0);
  for (const format of [day, weekday, ago]) format(today);
  days(today, today);
  localMidnight();
}

/** @param {number} value @returns {string} 12,345 */
export const number = (value) => intl(Intl.NumberFormat, {}).format(value);

/** @param {number} value @returns {string} 12K */
export const short = (value) => intl(Intl.NumberFormat, { notation: "compact" }).format(value);

/** @param {number} part @returns {string} 12% for 0.12 */
export const percent = (part) => intl(Intl.NumberFormat, { style: "percent", maximumFractionDigits: 0 }).format(part);

const SIZES = ["byte", "kilobyte", "megabyte", "gigabyte"];

/** @param {number} value in bytes @returns {string} 1.2 MB */
export function bytes(value) {
  const step = Math.min(SIZES.length - 1, value < 1 ? 0 : Math.floor(Math.log10(value) / 3));
  const options = { style: "unit", unit: SIZES[step], unitDisplay: "short", maximumFractionDigits: step > 1 ? 1 : 0 };
  return intl(Intl.NumberFormat, options).format(value / 1_000 ** step);
}

/** @param {string | Date} at a date or timestamp @param {Intl.DateTimeFormatOptions} options */
const date = (at, options) => intl(Intl.DateTimeFormat, options).format(new Date(at));

/** @param {string} day `2026-11-21` @returns {string} Nov 21, without "UTC", for use where a label already says UTC */
export const day = (day) => date(day, { timeZone: "UTC", month: "short", day: "numeric" });

/** @param {string} day `2026-11-21` @returns {string} Sat 21, without "UTC" */
export const weekday = (day) => date(day, { timeZone: "UTC", weekday: "short", day: "numeric" });

/** @param {string} at @returns {string} Nov 2026, without "UTC" */
export const month = (at) => date(at, { timeZone: "UTC", month: "short", year: "numeric" });

/**
 * @param {string} from `2026-11-18` @param {string} to
 * @param {boolean} [withYear] default: true, unless both days are in the current year
 * @returns {string} Nov 18 – 24, without "UTC"
 */
export function days(
  from,
  to,
  withYear = [from, to].some((day) => !day.startsWith(new Date().toISOString().slice(0, 5))),
) {
  const options = { timeZone: "UTC", month: "short", day: "numeric", ...(withYear && { year: "numeric" }) };
  return intl(Intl.DateTimeFormat, options).formatRange(new Date(from), new Date(to));
}

/** @param {string} day `2026-11-21` @returns {string} Sat, Nov 21, 2026 UTC */
export const longDay = (day) =>
  `${date(day, { timeZone: "UTC", weekday: "short", year: "numeric", month: "short", day: "numeric" })} UTC`;

/** @param {string} at the beginning of an hour @returns {string} 14:00, without "UTC" */
export const hour = (at) => date(at, { timeZone: "UTC", hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

/**
 * The clock format (12 or 24 hours) of the user's region, which the browser's first language determines. The interface
 * can have another language: a German browser with an English interface shows 14:31, not 2:31 PM.
 * @returns {Intl.DateTimeFormatOptions}
 */
const clock = () => ({
  hourCycle: intl(Intl.DateTimeFormat, { hour: "numeric" }, region()).resolvedOptions().hourCycle,
});

/** @returns {string} the browser's first valid language */
const region = () => firstValid(navigator.languages) ?? locale();

/** @param {string} at @returns {string} 14:00 in the reader's time zone */
export const localHour = (at) => date(at, { ...clock(), hour: "2-digit", minute: "2-digit", timeZoneName: "short" });

/** @returns {string} the time of midnight UTC in the user's time zone, such as 01:00; "" if this time zone is UTC */
export function localMidnight() {
  const now = new Date();
  return now.getTimezoneOffset() === 0
    ? ""
    : date(new Date(now.setUTCHours(0, 0)), { ...clock(), hour: "numeric", minute: "2-digit" });
}

/**
 * @param {string} at
 * @param {string} [timeZone] by default, the reader's time zone
 * @returns {string} Nov 21, 2026, 2:31 PM GMT+1
 */
export const moment = (at, timeZone) =>
  date(at, {
    ...clock(),
    timeZone,
    year: "numeric",
    month: "short",
    day: "numeric",
    hour: "numeric",
    minute: "2-digit",
    timeZoneName: "short",
  });

const DAY_MS = 86_400_000;

/** @type {[Intl.RelativeTimeFormatUnit, number][]} */
const SPANS_S = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1],
];

/** @param {string} at @param {number} [now_ms] @returns {string} 3 minutes ago; in 14 days */
export function ago(at, now_ms = Date.now()) {
  const seconds = (Date.parse(at) - now_ms) / 1_000;
  const [unit, length_s] = SPANS_S.find(([, span_s]) => Math.abs(seconds) >= span_s) ?? ["second", 1];
  // A day here has 24 hours, so it does not always lead to a time that is "yesterday" or "tomorrow".
  const numeric = unit === "day" ? "always" : "auto";
  return intl(Intl.RelativeTimeFormat, { numeric }).format(Math.trunc(seconds / length_s), unit);
}

/** @param {string} day a UTC day @param {number} [now_ms] @returns {string} today; yesterday; 3 days ago */
export function daysAgo(day, now_ms = Date.now()) {
  const days = Date.parse(day) / DAY_MS - Math.floor(now_ms / DAY_MS);
  return intl(Intl.RelativeTimeFormat, { numeric: "auto" }).format(days, "day");
}

/** @param {number} seconds @returns {string} 41 seconds; 5 minutes */
export function span(seconds) {
  const [unit, length_s] = SPANS_S.find(([, span_s]) => seconds >= 2 * span_s) ?? ["second", 1];
  return intl(Intl.NumberFormat, { style: "unit", unit, unitDisplay: "long" }).format(Math.ceil(seconds / length_s));
}

/**
 * @param {number} count
 * @param {{one: string, other: string} & Partial<Record<Intl.LDMLPluralRule, string>>} forms the plural forms of a
 *   phrase in the reader's language, with `#` in place of the count
 * @returns {string} the phrase for this count
 */
export const plural = (count, forms) =>
  (forms[intl(Intl.PluralRules, {}).select(count)] ?? forms.other).replace("#", number(count));

/** @param {string[]} items @returns {string} a, b and c */
export const list = (items) => intl(Intl.ListFormat, { type: "conjunction" }).format(items);

/**
 * @param {string} code an ISO 3166-1 code, or Cloudflare's `XX` (unknown) or `T1` (Tor)
 * @param {{unknown: string}} words
 * @returns {string} the name of the country; the code itself if the browser does not know it
 */
export function country(code, { unknown }) {
  if (code === "XX") return unknown;
  if (code === "T1") return "Tor";
  if (!/^[A-Z]{2}$/.test(code)) return code;
  try {
    return intl(Intl.DisplayNames, { type: "region" }).of(code) ?? code;
  } catch {
    return code;
  }
}
