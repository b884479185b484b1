/** Durations in ms, and epoch hours and days (UTC). */
export const SECOND_MS = 1000;
export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

/** @param {number} at epoch ms @returns {number} epoch hour */
export const hourOf = (at) => Math.floor(at / HOUR_MS);

/** @param {number} at epoch ms @returns {number} epoch day */
export const dayOf = (at) => Math.floor(at / DAY_MS);

/** @param {number} day epoch day @returns {string} YYYY-MM-DD */
export const dateText = (day) => new Date(day * DAY_MS).toISOString().slice(0, 10);

/** @param {number} day epoch day @returns {number} its calendar month, as the number of months since the year 0 */
export function monthOf(day) {
  const date = new Date(day * DAY_MS);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

/** @param {number} month number of months since the year 0 @returns {number} epoch day */
export const firstDayOf = (month) => Date.UTC(Math.floor(month / 12), month % 12, 1) / DAY_MS;
