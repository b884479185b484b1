/** Parses IP addresses and networks, and finds the network that contains an address. */

/**
 * @typedef {number[]} Words an address as signed 32-bit integers: one for IPv4, four for IPv6
 * @typedef {{words: Words, mask: Words}} Network
 */

const WORD_BITS = 32;

/** @param {string} text such as "192.0.2.7" @returns {number | null} null if the text is not an IPv4 address */
function ipv4Word(text) {
  const parts = text.split(".");
  const valid = parts.length === 4 && parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) < 256);
  return valid ? parts.reduce((word, part) => (word << 8) | Number(part), 0) : null;
}

/** @param {string} text with at least one colon @returns {Words | null} null if the text is not an IPv6 address */
function ipv6Words(text) {
  const last = text.lastIndexOf(":") + 1;
  if (text.includes(".", last)) {
    const word = ipv4Word(text.slice(last));
    if (word === null) return null;
    return ipv6Words(`${text.slice(0, last)}${(word >>> 16).toString(16)}:${(word & 0xffff).toString(16)}`);
  }
  const [before = "", after, more] = text.split("::");
  const left = before === "" ? [] : before.split(":");
  const right = after === undefined || after === "" ? [] : after.split(":");
  const missing = 8 - left.length - right.length;
  if (more !== undefined || (after === undefined ? missing !== 0 : missing < 1)) return null;
  const groups = [...left, ...new Array(missing).fill("0"), ...right];
  if (!groups.every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return null;
  return [0, 2, 4, 6].map((at) => (parseInt(groups[at], 16) << 16) | parseInt(groups[at + 1], 16));
}

/**
 * @param {string} text
 * @returns {Words | null} null if the text is not an address; an IPv4-mapped IPv6 address becomes IPv4
 */
export function parseAddress(text) {
  if (!text.includes(":")) {
    const word = ipv4Word(text);
    return word === null ? null : [word];
  }
  const words = ipv6Words(text);
  if (words === null) return null;
  const [first, second, third, fourth] = /** @type {[number, number, number, number]} */ (words);
  return first === 0 && second === 0 && third === 0xffff ? [fourth] : words;
}

/**
 * @param {string} text in the canonical form that the service writes: an address, or a network with its prefix length
 * @returns {Network | null} null if the text is not a network
 */
export function parseNetwork(text) {
  const [address = "", length] = text.split("/");
  const words = parseAddress(address);
  if (words === null) return null;
  const bits = length === undefined ? words.length * WORD_BITS : Number(length);
  const mask = words.map((_, index) => {
    const own = Math.min(Math.max(bits - index * WORD_BITS, 0), WORD_BITS);
    return own === 0 ? 0 : -1 << (WORD_BITS - own);
  });
  return { words: words.map((word, index) => word & Number(mask[index])), mask };
}

/** @param {readonly Network[]} networks @param {string} text an address @returns {boolean} */
export function isInNetworks(networks, text) {
  const address = parseAddress(text);
  return address !== null && networks.some((network) => contains(network, address));
}

/** @param {Network} network @param {Words} address @returns {boolean} */
const contains = ({ words, mask }, address) =>
  words.length === address.length &&
  words.every((word, index) => (Number(address[index]) & Number(mask[index])) === word);
