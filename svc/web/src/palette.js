/** Matching and keyboard navigation of the search dialog. Pure functions. */

/** @typedef {{href: string, name: string, about?: string}} Offer a page, site or link */

/**
 * @param {Offer[]} offers
 * @param {string} typed
 * @returns {Offer[]} offers whose name contains all typed words in any order; names that start with the text come first
 */
export function fitting(offers, typed) {
  const text = typed.trim().toLocaleLowerCase();
  const words = text.split(/\s+/);
  const found = offers
    .map((offer) => ({ offer, name: offer.name.toLocaleLowerCase() }))
    .filter(({ name }) => words.every((word) => name.includes(word)));
  return found
    .toSorted((a, b) => Number(b.name.startsWith(text)) - Number(a.name.startsWith(text)))
    .map(({ offer }) => offer);
}

/**
 * @param {string} key
 * @param {number} at the index of the selected offer
 * @param {number} count the number of offers
 * @returns {number | null} the new index; the arrow keys wrap around. null if the key does not navigate
 */
export function chosenBy(key, at, count) {
  if (key === "ArrowDown") return count && (at + 1) % count;
  if (key === "ArrowUp") return count && (at - 1 + count) % count;
  if (key === "PageDown") return Math.max(0, count - 1);
  return key === "PageUp" ? 0 : null;
}
