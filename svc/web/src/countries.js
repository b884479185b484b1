/** Which countries there are, by ISO 3166-1; their names are the browser's. */

import { country, locale } from "./format.js";
import { t } from "./words.js";

// XK is no code of the standard, but the one by which the edge platform knows Kosovo.
const CODES =
  "AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ CA CC " +
  "CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD " +
  "GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH " +
  "KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW " +
  "MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC " +
  "SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY " +
  "UZ VA VC VE VG VI VN VU WF WS XK YE YT ZA ZM ZW";

/** @param {string} code @returns {string} the country's name in the reader's language */
export const nameOf = (code) => country(code, { unknown: t().common.unknown });

/**
 * @param {string[]} [also] codes that are to be among them, whatever they are
 * @returns {{code: string, name: string}[]} all countries, by their names in the reader's language
 */
export function countries(also = []) {
  const all = [...new Set([...CODES.split(" "), ...also])].map((code) => ({ code, name: nameOf(code) }));
  const { compare } = new Intl.Collator(locale());
  return all.sort((a, b) => compare(a.name, b.name));
}

// So many are named in a sentence.
const NAMED = 5;

/**
 * @param {string[]} codes
 * @returns {{names: string[], others: number}} the first few by their names, and how many more there are
 */
export function named(codes) {
  // One that would be left alone is named as well.
  const count = codes.length > NAMED + 1 ? NAMED : codes.length;
  return { names: codes.slice(0, count).map(nameOf), others: codes.length - count };
}
