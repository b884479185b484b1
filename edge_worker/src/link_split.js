/**
 * Selects a variant of a split link. A visitor's bucket depends only on the link, the UTC day, the address and the user
 * agent. All isolates therefore select the same variant, without a cookie, without reading the database, and also while
 * the database is failing. The bucket is not stored. It differs between days and between links.
 */

/** @typedef {{url: string, share: number}} Variant share: in percent; the shares of a split add up to 100 */

const BUCKETS = 100;
const encoder = new TextEncoder();

/**
 * @param {string} target id of the link @param {number} day epoch day @param {string} address @param {string} ua
 * @returns {Promise<number>} the visitor's bucket, from 0 to 99
 */
export async function bucketOf(target, day, address, ua) {
  const digest = await crypto.subtle.digest("SHA-256", encoder.encode(`${day}|${target}|${address}|${ua}`));
  // With 32 bits, no bucket is more frequent than another by more than one in 40 million.
  return new DataView(digest).getUint32(0) % BUCKETS;
}

/**
 * @param {Variant[]} split @param {number} bucket
 * @returns {string | undefined} the URL of the variant; undefined if the shares do not cover the bucket
 */
export function variantOf(split, bucket) {
  let end = 0;
  return split.find(({ share }) => {
    end += share;
    return bucket < end;
  })?.url;
}
