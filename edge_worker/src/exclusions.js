/** Decides whether a site's exclusions (networks, countries, autonomous systems) match a visitor. */

import { isInNetworks, parseNetwork } from "./networks.js";

/**
 * @typedef {object} Exclusions
 * @property {import("./networks.js").Network[]} networks
 * @property {Set<string>} countries @property {Set<number>} asns
 */

/**
 * Parses a site's exclusion lists when the site's row is read, so that requests do not have to parse them.
 * @param {import("./sites.js").SiteRow} row
 * @returns {Exclusions | null} null if the site excludes no visitors
 */
export function exclusionsOf({ excluded_networks = [], excluded_countries = [], excluded_asns = [] }) {
  if (excluded_networks.length + excluded_countries.length + excluded_asns.length === 0) return null;
  return {
    networks: excluded_networks.map(parseNetwork).filter((network) => network !== null),
    countries: new Set(excluded_countries),
    asns: new Set(excluded_asns),
  };
}

/**
 * @param {Exclusions} exclusions @param {Request} request @param {string} country
 * @returns {boolean} true if one of the lists has an entry that matches the visitor
 */
export function isVisitorExcluded({ networks, countries, asns }, { cf, headers }, country) {
  if (countries.has(country)) return true;
  const asn = /** @type {{asn?: unknown} | undefined} */ (cf)?.asn;
  if (typeof asn === "number" && asns.has(asn)) return true;
  return networks.length > 0 && isInNetworks(networks, addressOf(headers));
}

/**
 * Returns the visitor's address. If a zone's "Pseudo IPv4" setting replaces the address of IPv6 visitors, the real
 * address is in a second header (Cloudflare docs: Network, Pseudo IPv4).
 * @param {Headers} headers
 */
const addressOf = (headers) => headers.get("cf-connecting-ipv6") ?? headers.get("cf-connecting-ip") ?? "";
