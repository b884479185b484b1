/** The ISO 3166-1 countries. The browser supplies their names. */

import { country, locale } from "./format.js";
import { t } from "./words.js";

// XK, which Cloudflare uses for Kosovo, is not part of ISO 3166-1.
const CODES =
  "AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ CA CC " +
  "CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD " +
  "GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH " +
  "KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW " +
  "MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC " +
  "SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY " +
  "UZ VA VC VE VG VI VN VU WF WS XK YE YT ZA ZM ZW";

const EU = "AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK";

/**
 * Groups of countries that are often used together in rules.
 * @type {[name: keyof ReturnType<typeof t>["picker"]["groups"], codes: string[]][]}
 */
export const GROUPS = [
  ["eu", EU.split(" ")],
  ["eea", `${EU} IS LI NO`.split(" ")],
  ["dach", ["DE", "AT", "CH"]],
  ["benelux", ["BE", "NL", "LU"]],
  ["nordics", ["DK", "FI", "IS", "NO", "SE"]],
  ["northAmerica", ["US", "CA", "MX"]],
];

/** @param {string} code @returns {string} the country's name in the reader's language */
export const nameOf = (code) => country(code, { unknown: t().common.unknown });

/**
 * @param {string[]} [also] additional codes, which do not have to be in the standard
 * @returns {{code: string, name: string}[]} all countries, sorted by name in the reader's language
 */
export function countries(also = []) {
  const all = [...new Set([...CODES.split(" "), ...also])].map((code) => ({ code, name: nameOf(code) }));
  const { compare } = new Intl.Collator(locale());
  return all.sort((a, b) => compare(a.name, b.name));
}

// The maximum number of countries that a sentence lists by name.
const NAMED = 5;

/**
 * @param {string[]} codes
 * @returns {{names: string[], others: number}} the names of the first countries, and the number of the remaining ones
 */
export function named(codes) {
  // If only one country remains, name it instead of showing "and 1 more".
  const count = codes.length > NAMED + 1 ? NAMED : codes.length;
  return { names: codes.slice(0, count).map(nameOf), others: codes.length - count };
}
