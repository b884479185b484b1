/**
 * Recognizes links that are restricted in another product's export (banned, expired, password-protected and so on).
 * This service supports only start and expiry dates. `svc import links` uses the same columns and values.
 */

import {
  ACTIVE,
  ENDS,
  FALSE,
  FLAGS,
  LAST_EPOCH_S,
  NEVER_MS,
  RESTRICTIONS,
  STARTS,
  STATES,
  STATE_WORDS,
  UNSET,
  VISITS,
} from "./import-columns.js";
import { isOwnExport } from "./import-options.js";

/**
 * @typedef {import("./import-columns.js").Restriction | "unclear"} Restriction `unclear`: the link has a date that
 *   cannot be read
 * @typedef {{starts_at?: string, ends_at?: string}} Period the start and expiry date, if they are in the future
 * @typedef {{restriction?: Restriction, period: Period}} Restricted `restriction`: the first one that applies
 * @typedef {(text: string) => boolean} Applies
 */

/** @param {string} text @returns {boolean} */
const isUnset = (text) => UNSET.includes(text);

/** @type {Applies} */
const isSet = (text) => !isUnset(text);

/** @type {Map<string, [Restriction, Applies]>} by normalized column name */
const COLUMNS = new Map();

/** @param {Restriction} restriction @param {Applies} applies @param {string[]} names */
const columns = (restriction, applies, names) => names.forEach((name) => COLUMNS.set(name, [restriction, applies]));

FLAGS.forEach(([restriction, names]) => columns(restriction, isSet, names));
columns("disabled", (text) => FALSE.includes(text), ACTIVE);
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
 * @returns {(fields: string[]) => Restricted} a function that returns the restriction and the period of a row
 */
export function restrictions(names) {
  const checks = names.flatMap((name, place) => {
    const [restriction, applies] = COLUMNS.get(name) ?? [];
    return restriction && applies ? [{ place, restriction, applies }] : [];
  });
  const states = names.flatMap((name, place) => (STATES.includes(name) ? [place] : []));
  const dated = (/** @type {string[]} */ known) =>
    isOwnExport(names) ? [] : names.flatMap((name, place) => (known.includes(name) ? [place] : []));
  const [starts, ends] = [dated(STARTS), dated(ENDS)];
  return (fields) => {
    const text = (/** @type {number} */ place) => (fields[place] ?? "").toLowerCase();
    /** @type {Set<Restriction | undefined>} */
    const found = new Set(states.map((place) => STATE_OF.get(text(place))));
    for (const { place, restriction, applies } of checks) {
      if (applies(text(place))) found.add(restriction);
    }
    const now = Date.now();
    const moments = (/** @type {number[]} */ places) => places.map((place) => momentOf(text(place)) ?? NaN);
    const [started, ended] = [moments(starts), moments(ends)];
    if ([...started, ...ended].some(Number.isNaN)) found.add("unclear");
    if (ended.some((moment) => moment <= now)) found.add("expired");
    const start = Math.max(...started.filter((moment) => moment > now && moment < Infinity));
    const end = Math.min(...ended.filter((moment) => moment > now && moment < NEVER_MS));
    const restriction = ORDER.find((one) => found.has(one));
    return {
      ...(restriction && { restriction }),
      period: {
        ...(start > now && { starts_at: new Date(start).toISOString() }),
        ...(end < NEVER_MS && { ends_at: new Date(end).toISOString() }),
      },
    };
  };
}
