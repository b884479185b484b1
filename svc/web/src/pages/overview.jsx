/** The overview: the setup steps until the first view, then problems, sites and top links. */

import { list, number } from "../format.js";
import { useKeys } from "../keys.js";
import { useResource, whileWorking } from "../resource.js";
import { Attention, attention } from "../ui/attention.jsx";
import { Rows } from "../ui/list.jsx";
import { Empty, Loaded, Mark, Page, State } from "../ui/parts.jsx";
import { useFirstView } from "../ui/setup.jsx";
import { Sparkline } from "../ui/sparkline.jsx";
import { Steps } from "../ui/steps.jsx";
import { t } from "../words.js";

const SITES_SHOWN = 50;
const LINKS_SHOWN = 10;
// Polling intervals for steps that the user completes elsewhere: confirming the email address, opening a site.
const CONFIRMED_MS = 5_000;
const FIRST_VIEW_MS = 30_000;

/**
 * @param {any[]} objects @param {number} polls @param {number} since_ms
 * @returns {number | null} the shortest interval of `whileWorking` for these objects
 */
function whileAny(objects, polls, since_ms) {
  const waits = objects.map((one) => whileWorking(one, polls, since_ms)).filter((wait) => wait !== null);
  return waits.length > 0 ? Math.min(...waits) : null;
}

/** @type {import("../resource.js").Pace} */
const whileNotCounted = ({ sites }, polls, since_ms) =>
  whileAny(sites, polls, since_ms) ?? (sites.length > 0 && !anyCounted(sites, []) ? FIRST_VIEW_MS : null);

/**
 * True if a site has had a view or a link a click.
 * @param {import("../wire").Site[]} sites @param {import("../wire").Link[]} links
 */
const anyCounted = (sites, links) =>
  sites.some(({ first_view_at }) => first_view_at !== null) || links.some(({ clicks_7d }) => (clicks_7d ?? 0) > 0);

/**
 * Read the report of a link that had no clicks before today. Only a report shows the first click immediately.
 * @param {import("../wire").Site[] | undefined} sites @param {import("../wire").Link[] | undefined} links
 */
function useFirstClick(sites = [], links = []) {
  const [link] = links;
  const asked = link && !anyCounted(sites, links) ? { link_id: link.id, period: /** @type {"30d"} */ ("30d") } : null;
  const read = useResource("GET /v1/links/{link_id}/report", asked, {
    pace: ({ report }) => (report.totals.views > 0 ? null : FIRST_VIEW_MS),
  });
  return { read, awaited: asked !== null };
}

export function Overview() {
  const words = t().overview;
  const me = useResource("GET /v1/me", {}, { pace: ({ user }) => (user.email_confirmed ? null : CONFIRMED_MS) });
  const accounts = useResource("GET /v1/accounts", {}, { pace: ({ accounts: all }, ...so) => whileAny(all, ...so) });
  const sites = useResource("GET /v1/sites", { limit: SITES_SHOWN }, { pace: whileNotCounted });
  const links = useResource("GET /v1/links", { order: "clicks", limit: LINKS_SHOWN });
  const click = useFirstClick(sites.data?.sites, links.data?.links);
  const waiting = sites.data && links.data && !anyCounted(sites.data.sites, links.data.links);
  const newest = waiting ? sites.data?.sites.find(({ state }) => state === "active") : undefined;
  const view = useFirstView(newest);
  const viewed = view.seen ? newest?.id : undefined;

  const reads = [me, accounts, sites, links, ...(click.awaited ? [click.read] : [])];
  useKeys([
    {
      keys: "r",
      says: t().common.shortcuts.again,
      does: () => [view.check, ...reads.map(({ again }) => again)].forEach((again) => again()),
    },
  ]);
  /** @type {import("../resource.js").Read<any> | undefined} */
  const waited = reads.find(({ error }) => error) ?? reads.find(({ loading }) => loading);
  const clicked = (click.awaited && click.read.data?.report.totals.views) || 0;
  return (
    <Page title={words.title}>
      {waited && (
        <Loaded read={waited} rows={6}>
          {() => null}
        </Loaded>
      )}
      {me.data && accounts.data && sites.data && links.data && !(click.awaited && click.read.loading) && (
        <Found
          user={me.data.user}
          accounts={accounts.data.accounts}
          sites={sites.data.sites}
          more={sites.data.next_cursor !== undefined}
          links={links.data.links}
          clicked={clicked > 0}
          viewed={viewed}
        />
      )}
    </Page>
  );
}

/**
 * @param {{
 *   user: import("../wire").User,
 *   accounts: import("../wire").Account[],
 *   sites: import("../wire").Site[],
 *   more: boolean,
 *   links: import("../wire").Link[],
 *   clicked: boolean,
 *   viewed: string | undefined,
 * }} props `more`: true if there are more sites; `clicked`: true if a link was clicked today; `viewed`: the id of a
 *   site whose first view has not been pushed yet
 */
function Found({ user, accounts, sites, more, links, clicked, viewed }) {
  const needs = attention(user, accounts, sites);
  if (!clicked && !viewed && !anyCounted(sites, links)) {
    return (
      <>
        {accounts.length > 0 && <Attention needs={needs} />}
        <Steps user={user} accounts={accounts} sites={sites} links={links} />
      </>
    );
  }
  return (
    <>
      <Attention needs={needs} />
      {sites.length > 0 && <Sites sites={sites} more={more} viewed={viewed} />}
      <Links links={links} />
    </>
  );
}

/** @param {{sites: import("../wire").Site[], more: boolean, viewed: string | undefined}} props */
function Sites({ sites, more, viewed }) {
  const words = t().overview;
  return (
    <section aria-labelledby="sites">
      <h2 id="sites">{words.sites}</h2>
      <Rows
        label={words.sites}
        rows={sites}
        id={({ id }) => id}
        columns={[
          { label: words.site, cell: ({ id, host }) => <a href={`/sites/${id}`}>{host}</a> },
          { label: words.state, cell: (site) => <Counting site={site} viewed={site.id === viewed} /> },
          {
            label: words.days7,
            cell: ({ series_7d = [] }) => <Sparkline values={series_7d} label={daily(series_7d)} />,
          },
          { label: words.views7d, number: true, cell: ({ views_7d = 0 }) => number(views_7d) },
        ]}
      />
      <p class="after">
        <span class="small">{words.closedDays}</span>
        {more && <a href="/sites">{words.allSites}</a>}
      </p>
    </section>
  );
}

/** @param {number[]} series @returns {string} for screen readers */
const daily = (series) => t().overview.daily(list(series.map(number)));

/**
 * Shows the site's status, or a note that it has no views yet.
 * @param {{site: import("../wire").Site, viewed: boolean}} props `viewed`: its first view has not been pushed yet
 */
function Counting({ site: { state, config, first_view_at }, viewed }) {
  if (state !== "active") return <State state={state} />;
  if (config === "pending") return <State state="config_pending" />;
  if (viewed) return <Mark kind="good">{t().overview.firstView}</Mark>;
  return first_view_at === null ? <Mark kind="none">{t().overview.noView}</Mark> : <State state="active" />;
}

/** @param {{links: import("../wire").Link[]}} props sorted by clicks, the most clicked first */
function Links({ links }) {
  const words = t().overview;
  const busy = links.filter(({ clicks_7d = 0 }) => clicks_7d > 0);
  if (links.length === 0) return null;
  return (
    <section aria-labelledby="links">
      <h2 id="links">{words.links}</h2>
      {busy.length === 0 ? (
        <Empty>
          <p>
            {words.noClicks} <a href="/links">{words.allLinks}</a>
          </p>
        </Empty>
      ) : (
        <>
          <Rows
            label={words.links}
            rows={busy}
            id={({ id }) => id}
            columns={[
              { label: words.link, cell: ({ id, code }) => <a href={`/links/${id}`}>{code}</a> },
              { label: words.target, cell: ({ url }) => <span class="leads-to">{url}</span> },
              { label: words.clicks7d, number: true, cell: ({ clicks_7d = 0 }) => number(clicks_7d) },
            ]}
          />
          <p class="after">
            <a href="/links">{words.allLinks}</a>
          </p>
        </>
      )}
    </section>
  );
}
