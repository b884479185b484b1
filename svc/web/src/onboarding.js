/** Determines whether a view or click has been counted yet, which ends the setup steps. */

import { useFirstView } from "./first-view.js";
import { useResource } from "./resource.js";

/**
 * @typedef {import("./wire").Overview} Overview
 * @typedef {import("./wire").Site} Site
 */

/** Polling interval for the first view or click, which happens outside this page. */
export const FIRST_VIEW_MS = 30_000;

/** @param {Overview} overview @returns {boolean} true if the Workers have sent a view or click */
export const hasCounted = ({ sites, links }) =>
  sites.entries.some(({ site }) => site.first_view_at !== null) ||
  [...sites.entries, ...links.entries].some(({ series_30d }) => series_30d.some((views) => views > 0));

/** Sites without a view are checked for this long after they were added. */
const NEW_SITE_MS = 86_400_000;

/** @param {Overview | undefined} overview @returns {Site | undefined} the newest site, if it was added recently */
const newestWithoutView = (overview) =>
  overview?.sites.entries
    .map(({ site }) => site)
    .filter(({ state, first_view_at }) => state === "active" && first_view_at === null)
    .filter(({ created_at }) => Date.now() - Date.parse(created_at) < NEW_SITE_MS || !hasCounted(overview))
    .toSorted((one, other) => other.created_at.localeCompare(one.created_at))[0];

/**
 * Report whether anything has been counted. The Workers send their counts once an hour, so this function also reads the
 * Worker's database for the first view of the newest site and, until anything has been counted, for the first click on
 * a link. The view therefore appears within seconds. The click appears within minutes, because the service caches the
 * reports of links.
 * @param {Overview | undefined} overview
 * @returns {{
 *   inUse: boolean,
 *   viewed: string | undefined,
 *   loading: boolean,
 *   reads: import("./resource.js").Read<any>[],
 *   check: () => void,
 * }} `inUse`: something has been counted; `viewed`: the id of the newest site, if its first view has been counted but
 *   not sent yet; `loading`: not known yet; `reads`: what the page has to wait for; `check`: check for the first view
 *   immediately
 */
export function useOnboarding(overview) {
  const waiting = overview && !hasCounted(overview) ? overview : undefined;
  const site = newestWithoutView(overview);
  const link = waiting?.links.entries[0]?.link;
  const view = useFirstView(site);
  const click = useResource(
    "GET /v1/links/{link_id}/report",
    link ? { link_id: link.id, period: /** @type {"30d"} */ ("30d") } : null,
    { pace: ({ report }) => (report.totals.views > 0 ? null : FIRST_VIEW_MS) },
  );
  const viewed = view.seen ? site?.id : undefined;
  const clicked = Boolean(link && click.data?.report.totals.views);
  return {
    inUse: overview !== undefined && (!waiting || viewed !== undefined || clicked),
    viewed,
    loading: link !== undefined && click.loading,
    reads: link ? [click] : [],
    check: view.check,
  };
}
