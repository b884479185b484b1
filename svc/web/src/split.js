/** The shares of the variants of an A/B test: integers of at least 1 whose sum is 100. Pure functions. */

export const WHOLE = 100;
export const FEWEST = 2;
export const MOST = 10;

/** @param {number} count of variants @returns {number} the largest share of one variant */
export const largestShare = (count) => WHOLE - (count - 1);

/**
 * Distribute a total in proportion to the shares. Each variant gets at least 1.
 * @param {number} total
 * @param {number[]} shares
 * @returns {number[]} integers with this sum
 */
function spread(total, shares) {
  const free = total - shares.length;
  const above = shares.map((share) => Math.max(0, share - 1));
  const sum = above.reduce((all, one) => all + one, 0);
  const exact = above.map((one) => (sum === 0 ? free / shares.length : (free * one) / sum));
  const whole = exact.map(Math.floor);
  const missing = free - whole.reduce((all, one) => all + one, 0);
  // The remainder goes to the variants that lost most by rounding down.
  const byLoss = exact
    .map((one, i) => ({ i, loss: one - Math.floor(one) }))
    .sort((a, b) => b.loss - a.loss || a.i - b.i);
  const raised = new Set(byLoss.slice(0, missing).map(({ i }) => i));
  return whole.map((one, i) => 1 + one + (raised.has(i) ? 1 : 0));
}

/**
 * @param {number[]} shares whose sum is 100
 * @param {number} at the index of the share to set
 * @param {number} wanted
 * @returns {number[]} the shares after the change. The wanted share is limited to what is possible, and the other
 *   shares keep their proportions.
 */
export function withShare(shares, at, wanted) {
  const share = Math.min(largestShare(shares.length), Math.max(1, Math.round(wanted)));
  return spread(WHOLE - share, shares.toSpliced(at, 1)).toSpliced(at, 0, share);
}

/** @param {number} count @returns {number[]} equal shares, as far as possible */
export const evenShares = (count) =>
  spread(
    WHOLE,
    Array.from({ length: count }, () => 1),
  );

/** @param {number[]} shares @returns {number[]} with one more variant, which gets an equal share */
export const withAnother = (shares) =>
  withShare([...shares, 1], shares.length, Math.floor(WHOLE / (shares.length + 1)));

/** @param {number[]} shares @param {number} at @returns {number[]} without this variant */
export const without = (shares, at) => spread(WHOLE, shares.toSpliced(at, 1));

/** @param {number} at @returns {string} the name of a variant: A, B, … */
export const letter = (at) => String.fromCharCode("A".charCodeAt(0) + at);

/**
 * The maximum length of the key by which reports identify a destination, and the number of the key's characters that
 * are taken from the end of the URL. The values are the same as in edge_worker/src/links.js.
 */
const SERVED_CHARS = 200;
const SERVED_END_CHARS = 79;
const GAP = "...";

/** @param {string} url @returns {string} the key of this destination in the `targets` of a report */
export const servedKey = (url) =>
  url.length <= SERVED_CHARS
    ? url
    : url.slice(0, SERVED_CHARS - SERVED_END_CHARS - GAP.length) + GAP + url.slice(-SERVED_END_CHARS);

/**
 * @param {readonly {url: string}[] | null} split
 * @param {string} key of a destination in `targets`
 * @returns {string[]} the letters of the variants that are counted under this key
 */
export const lettersOf = (split, key) =>
  (split ?? []).flatMap(({ url }, at) => (servedKey(url) === key ? [letter(at)] : []));

/**
 * @param {{url: string, split: readonly {url: string}[] | null}} link
 * @returns {string[]} the destinations of visitors who match no rule: `url`, or the variants instead
 */
export const targetsOf = ({ url, split }) => (split?.length ? split.map((variant) => variant.url) : [url]);
