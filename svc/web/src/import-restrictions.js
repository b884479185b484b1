/**
 * Recognizes links that are restricted in another product's export (banned, expired, password-protected and so on).
 * This service does not support these restrictions. `svc import links` uses the same columns and values.
 */

import {
  ACTIVE,
  ENDS,
  FALSE,
  FLAGS,
  LAST_EPOCH_S,
  RESTRICTIONS,
  STARTS,
  STATES,
  STATE_WORDS,
  UNSET,
  VISITS,
} from "./import-columns.js";

/**
 * @typedef {import("./import-columns.js").Restriction | "unclear"} Restriction `unclear`: the link has a date that
 *   cannot be read
 * @typedef {{restriction?: Restriction, expires?: boolean}} Restricted the first restriction that applies;
 *   `expires`: the link has an expiry date in the future
 * @typedef {(text: string) => boolean | undefined} Applies undefined if the value is unreadable
 */

/** @param {string} text @returns {boolean} */
const isUnset = (text) => UNSET.includes(text);

/** @type {Applies} */
const isSet = (text) => !isUnset(text);

/** @type {Applies} */
const isOver = (text) => {
  const moment = momentOf(text);
  return moment === undefined ? undefined : moment <= Date.now();
};

/** @type {Applies} */
const isToCome = (text) => {
  const moment = momentOf(text);
  return moment === undefined ? undefined : moment > Date.now() && moment < Infinity;
};

/** @type {Map<string, [Restriction, Applies]>} by normalized column name */
const COLUMNS = new Map();

/** @param {Restriction} restriction @param {Applies} applies @param {string[]} names */
const columns = (restriction, applies, names) => names.forEach((name) => COLUMNS.set(name, [restriction, applies]));

FLAGS.forEach(([restriction, names]) => columns(restriction, isSet, names));
columns("disabled", (text) => FALSE.includes(text), ACTIVE);
columns("expired", isOver, ENDS);
columns("scheduled", isToCome, STARTS);
columns("visit-limit", isSet, VISITS);

/** Value of a `status` or `state` column → restriction. */
const STATE_OF = new Map(STATE_WORDS);

/** @type {Restriction[]} by precedence: a link with several restrictions gets the first */
const ORDER = [...RESTRICTIONS, "unclear"];

const MOMENT = /^(\d{4}-\d\d-\d\d)(?:[t ](\d\d:\d\d)(:\d\d)?(?:\.\d+)?(?:z|([+-]\d\d):?(\d\d)?)?)?$/;

/** @param {string} text in lower case @returns {number | undefined} ms; Infinity if unset, undefined if unreadable */
function momentOf(text) {
  if (isUnset(text)) return Infinity;
  if (/^[0-9]{1,14}$/.test(text)) return Number(text) * (Number(text) < LAST_EPOCH_S ? 1000 : 1);
  const found = MOMENT.exec(text);
  if (!found) return undefined;
  const [, day, time = "00:00", seconds = ":00", hours, minutes = "00"] = found;
  const moment = Date.parse(`${day}T${time}${seconds}${hours ? `${hours}:${minutes}` : "Z"}`);
  return Number.isNaN(moment) ? undefined : moment;
}

/**
 * @param {string[]} names normalized column names
 * @returns {(fields: string[]) => Restricted} a function that returns the restriction of a row
 */
export function restrictions(names) {
  const checks = names.flatMap((name, place) => {
    const [restriction, applies] = COLUMNS.get(name) ?? [];
    return restriction && applies ? [{ place, restriction, applies }] : [];
  });
  const states = names.flatMap((name, place) => (STATES.includes(name) ? [place] : []));
  const ends = names.flatMap((name, place) => (ENDS.includes(name) ? [place] : []));
  return (fields) => {
    const text = (/** @type {number} */ place) => (fields[place] ?? "").toLowerCase();
    /** @type {Set<Restriction | undefined>} */
    const found = new Set(states.map((place) => STATE_OF.get(text(place))));
    for (const { place, restriction, applies } of checks) {
      const applicable = applies(text(place));
      if (applicable !== false) found.add(applicable ? restriction : "unclear");
    }
    const restriction = ORDER.find((one) => found.has(one));
    if (restriction) return { restriction };
    return ends.some((place) => !isUnset(text(place))) ? { expires: true } : {};
  };
}
