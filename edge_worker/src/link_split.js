/**
 * Selects a variant of a split link. A visitor's bucket depends only on the link, the UTC day, the address and the user
 * agent. All isolates therefore select the same variant, without a cookie, without reading the database, and also while
 * the database is failing. The bucket is not stored. It differs between days and between links.
 */

/** @typedef {{url: string, share: number}} Variant share: in percent; the shares of a split add up to 100 */

const BUCKETS = 100;

/**
 * Returns the visitor's bucket, from 0 to 99. The hash is FNV-1a with the last step of MurmurHash3, which distributes
 * similar texts evenly. It does not have to be secure, because it decides nothing but the variant. Cloudflare's
 * cryptographic functions are asynchronous, and would cost more CPU time than all other options of a link combined.
 * @param {string} target id of the link @param {number} day epoch day @param {string} address @param {string} ua
 * @returns {number}
 */
export function bucketOf(target, day, address, ua) {
  const text = `${day}|${target}|${address}|${ua}`;
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  // With 32 bits, no bucket is more frequent than another by more than one in 40 million.
  return ((hash ^ (hash >>> 16)) >>> 0) % BUCKETS;
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
