/** Finds the site to which a request path belongs. */

import { exclusionsOf } from "./exclusions.js";
import vocabulary from "./vocabulary.json" with { type: "json" };

/**
 * @typedef {object} SiteRow a row of the configuration
 * @property {string} target
 * @property {string} script name of the script, without ".js"
 * @property {string[]} [excluded_paths]
 * @property {string[]} [excluded_networks] @property {string[]} [excluded_countries]
 * @property {number[]} [excluded_asns]
 * @property {boolean} [respect_gpc] @property {boolean} [visitor_opt_out]
 * @property {number} [until] epoch ms at which the path stops working
 * @typedef {SiteRow & {exclusions: import("./exclusions.js").Exclusions | null}} Site
 */

/** @param {SiteRow} row @returns {Site} */
export const siteOf = (row) => ({ ...row, exclusions: exclusionsOf(row) });

const PATH_FORM = new RegExp(vocabulary.site_path);

/**
 * @param {string} pathname
 * @returns {boolean} true if the path could be that of a site, of a site's script or of an opt-out page
 */
export const hasPathForm = (pathname) => PATH_FORM.test(pathname);

/**
 * Returns the site that a request belongs to, or null. The request path can be the site's path, its script, or any
 * other path below the site's path. The Worker responds to the other paths with 404.
 * @param {import("./config.js").Config} config
 * @param {import("./address.js").Address} url @param {number} now
 * @returns {{site: Site, path: string, rest: string} | null}
 */
export function findSite(config, { hostname, pathname }, now) {
  const sites = config.sitesOf(hostname);
  if (sites === undefined || sites.size === 0) return null;
  // Try the whole path first, because beacons are sent to the site's path, which has one or two segments.
  let end = pathname.length;
  let slash = 0;
  for (let tried = 0; tried < 3 && end > 1; tried += 1) {
    const path = pathname.slice(0, end);
    const site = sites.get(path);
    if (site !== undefined && (site.until === undefined || now < site.until)) {
      return { site, path, rest: pathname.slice(end) };
    }
    slash = pathname.indexOf("/", slash + 1);
    end = slash;
  }
  return null;
}
