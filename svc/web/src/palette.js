/** What the palette offers for what somebody has typed, and how its keys go through it. Pure. */

/** @typedef {{href: string, name: string, about?: string}} Offer a place: its address, its name, what else is known */

/**
 * @param {Offer[]} offers
 * @param {string} typed
 * @returns {Offer[]} those whose name has each of its words, in any order; whose name begins with it come first
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
 * @param {number} at which one is chosen now
 * @param {number} count how many there are
 * @returns {number | null} which one is chosen then, round at both ends; null: the key is none of these
 */
export function chosenBy(key, at, count) {
  if (key === "ArrowDown") return count && (at + 1) % count;
  if (key === "ArrowUp") return count && (at - 1 + count) % count;
  if (key === "PageDown") return Math.max(0, count - 1);
  return key === "PageUp" ? 0 : null;
}
