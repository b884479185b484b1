/** Finds the site that a request path belongs to. */

import vocabulary from "./vocabulary.json" with { type: "json" };

/**
 * @typedef {{target: string, script: string, excluded_paths?: string[], respect_gpc?: boolean, until?: number}} Site
 *   script: its name; until: epoch ms
 */

const PATH_FORM = new RegExp(vocabulary.site_path);

/** @param {string} pathname @returns {boolean} whether it has the form of a site path or of a site's script */
export const hasPathForm = (pathname) => PATH_FORM.test(pathname);

/**
 * Returns the site whose path the request uses, if any. Matches the site's path, its script, and any path below (which
 * is answered with 404).
 * @param {import("./config.js").Config} config
 * @param {import("./address.js").Address} url @param {number} now
 * @returns {{site: Site, path: string, rest: string} | null}
 */
export function findSite(config, { hostname, pathname }, now) {
  const sites = config.sitesOf(hostname);
  if (sites === undefined || sites.size === 0) return null;
  // Try the whole path first, as beacons use it. A site's path has one or two segments.
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
