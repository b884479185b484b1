/** Formats fractions of a total. */

import { percent } from "./format.js";

/** @param {number} part @returns {string} in percent, such as `12%`; `<1%` for a part that would be rounded to 0 */
export const share = (part) => (part > 0 && part < 0.005 ? `<${percent(0.01)}` : percent(part));
