/** The sites of a host: which one a request's path belongs to. */

import vocabulary from "./vocabulary.json" with { type: "json" };

/**
 * @typedef {{target: string, script: string, excluded_paths?: string[], respect_gpc?: boolean, until?: number}} Site
 *   script: its name; until: epoch ms
 */

const PATH_FORM = new RegExp(vocabulary.site_path);

/** @param {string} pathname @returns {boolean} whether it is one that the service gives to a site, or its script's */
export const hasPathForm = (pathname) => PATH_FORM.test(pathname);

/**
 * The site whose path the request names, if any: matches the site's path itself, its script, or anything below (which
 * is a 404).
 * @param {import("./config.js").Config} config
 * @param {import("./address.js").Address} url @param {number} now
 * @returns {{site: Site, path: string, rest: string} | null}
 */
export function findSite(config, { hostname, pathname }, now) {
  const sites = config.sitesOf(hostname);
  if (sites === undefined || sites.size === 0) return null;
  // All of the path first: a beacon's. A site's path has one or two segments.
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
