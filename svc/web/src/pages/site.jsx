/** The page of a site: setup until its first view, then its report. */

import { call } from "../api.js";
import { useFirstView } from "../first-view.js";
import { useKeys } from "../keys.js";
import { later } from "../later.jsx";
import { isMissing, useResource, whileWorking } from "../resource.js";
import { rememberPage, visit } from "../router.js";
import { DisabledNote } from "../ui/disabled.jsx";
import { ErrorMessage, Loaded, Note, Page, State } from "../ui/parts.jsx";
import { Report, useFirstNumbers } from "../ui/report.jsx";
import { t } from "../words.js";

/** @typedef {import("../wire").Site} Site */

const HostWarnings = later("HostWarnings", { part: true });
const NotFound = later("NotFound");
const Setup = later("Setup", { part: true });

// Polling interval for the first view, which arrives with the Worker's hourly push.
const FIRST_VIEW_AGAIN_MS = 60_000;

/** @type {import("../resource.js").Pace} */
const untilItCounts = ({ site }, polls, since_ms) =>
  whileWorking(site, polls, since_ms) ?? (site.state === "active" && !site.first_view_at ? FIRST_VIEW_AGAIN_MS : null);

/** @param {{id: string}} props */
export function SiteReport({ id }) {
  const words = t().site;
  const read = useResource("GET /v1/sites/{site_id}", { site_id: id }, { pace: untilItCounts });
  useFirstNumbers("site", id);
  const site = read.data?.site;
  const first = useFirstView(site);
  // Before the snippet has sent a view, check whether there are counts, because totals may have been imported.
  const before = useResource(
    "GET /v1/sites/{site_id}/report",
    site && !site.first_view_at ? { site_id: id, period: "30d" } : null,
  );
  const deleted = site?.state === "deleted";
  const setUp = site && !site.first_view_at && !deleted && !site.disabled;
  const counted = first.seen || deleted || Boolean(before.data?.report.totals.views);

  useKeys([
    { keys: "e", says: words.settings, does: () => !deleted && visit(`/sites/${id}/settings`) },
    ...Array.from({ length: 9 }, (_, i) => ({
      keys: String(i + 1),
      says: i === 0 ? words.firstNine : "",
      does: () => toSite(i),
    })),
  ]);
  if (isMissing(read)) return <NotFound kind="site" />;
  return (
    <Page title={site?.host ?? t().report.title} head={site && !deleted && <Head site={site} />}>
      <Loaded read={read} rows={8}>
        {({ site }) => (
          <>
            <DisabledNote kind="site" disabled={site.disabled} />
            {site.error && <ErrorMessage error={site.error} />}
            {site.warnings.length > 0 && <HostWarnings warnings={site.warnings} />}
            {deleted && (
              <Note>
                <p>{words.deletedNote}</p>
              </Note>
            )}
            {setUp && <Setup site={site} first={first} />}
            {counted && <Report kind="site" id={id} name={site.host} accountId={site.account_id} />}
          </>
        )}
      </Loaded>
    </Page>
  );
}

/** Open the site at a position in the list of sites. @param {number} place from 0 */
async function toSite(place) {
  const isHere = rememberPage();
  const { sites } = await call("GET /v1/sites", { limit: 9 }).catch(() => ({ sites: [] }));
  const site = sites[place];
  if (site && isHere()) visit(`/sites/${site.id}`);
}

/** @param {{site: Site}} props */
function Head({ site }) {
  const words = t().site;
  return (
    <p class="actions">
      {site.disabled ? (
        <State state="disabled" />
      ) : site.state !== "active" ? (
        <State state={site.state} />
      ) : (
        site.config === "pending" && <State state="config_pending" />
      )}
      <a class="button quiet" href={`https://${site.host}/`} target="_blank" rel="noopener noreferrer">
        {words.openSite}
      </a>
      <a class="button quiet" href={`/sites/${site.id}/settings`}>
        {words.settings}
      </a>
    </p>
  );
}
