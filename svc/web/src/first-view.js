/** Checks whether the first view of a new site was counted. */

import { useResource } from "./resource.js";

/**
 * @typedef {import("./wire").Site} Site
 * @typedef {NonNullable<import("./wire").FirstView["unavailable"]>} Unavailable
 */

// The service caches the result for ten seconds. If there is no view within ten minutes, poll less often.
const POLL_MS = 10_000;
const SLOWLY_AFTER_MS = 600_000;
const SLOWLY_MS = 60_000;

/**
 * Poll for the first view of a site. The Worker pushes views hourly, but its database contains them within seconds.
 * @param {Site | undefined} site
 * @returns {{
 *   seen: boolean,
 *   bots: boolean,
 *   view: import("./wire").View | null,
 *   unavailable: Unavailable | null,
 *   check: () => void,
 * }} `bots`: true if only bots have visited; `view`: the view if there is exactly one; `unavailable`: why the result is
 * unknown
 */
export function useFirstView(site) {
  const waits = site?.state === "active" && site.config === "synced" && !site.first_view_at && !site.disabled;
  const read = useResource("GET /v1/sites/{site_id}/first-view", waits ? { site_id: site.id } : null, {
    pace: ({ first_view }, _, since_ms) => (first_view.seen ? null : since_ms < SLOWLY_AFTER_MS ? POLL_MS : SLOWLY_MS),
  });
  const found = read.data?.first_view;
  const seen = Boolean(site?.first_view_at || found?.seen);
  return {
    seen,
    bots: !seen && Boolean(found?.bots),
    view: found?.view ?? null,
    unavailable: found?.unavailable ?? null,
    check: read.again,
  };
}
