/** The overview: the setup steps until the first view, then problems, totals, sites and top links. */

import { ago, days, list, localMidnight, number } from "../format.js";
import { useKept } from "../kept.js";
import { useKeys } from "../keys.js";
import { later } from "../later.jsx";
import { FIRST_VIEW_MS, hasCounted, useOnboarding } from "../onboarding.js";
import { useResource, whileWorking } from "../resource.js";
import { address, setSearch, visit } from "../router.js";
import { Attention, attention } from "../ui/attention.jsx";
import { Change } from "../ui/change.jsx";
import { Choice } from "../ui/choice.jsx";
import { DataTable } from "../ui/data-table.jsx";
import { Loaded, Mark, Page, State } from "../ui/parts.jsx";
import { Periods, currentPeriod } from "../ui/periods.jsx";
import { Sparkline } from "../ui/sparkline.jsx";
import { t } from "../words.js";

/**
 * @typedef {import("../wire").Overview} All
 * @typedef {import("../wire").SiteEntry} SiteEntry
 * @typedef {import("../wire").LinkEntry} LinkEntry
 * @typedef {keyof ReturnType<typeof t>["overview"]["orders"]} Order
 */

const Steps = later("Steps", { part: true });

// Polling interval for the confirmation of the email address, which happens outside this page.
const CONFIRMED_MS = 5_000;
// Polling interval for new counts, which Workers send once an hour.
const COUNTED_AGAIN_MS = 300_000;

/**
 * @param {any[]} objects @param {number} polls @param {number} since_ms
 * @returns {number | null} the shortest interval of `whileWorking` for these objects
 */
function whileAny(objects, polls, since_ms) {
  const waits = objects.map((one) => whileWorking(one, polls, since_ms)).filter((wait) => wait !== null);
  return waits.length > 0 ? Math.min(...waits) : null;
}

/** @type {import("../resource.js").Pace} */
const whileShown = ({ overview }, polls, since_ms) =>
  whileAny(
    overview.sites.entries.map((/** @type {SiteEntry} */ { site }) => site),
    polls,
    since_ms,
  ) ?? (overview.sites.number > 0 && !hasCounted(overview) ? FIRST_VIEW_MS : COUNTED_AGAIN_MS);

export function Overview() {
  const words = t().overview;
  const order = currentOrder();
  const me = useResource("GET /v1/me", {}, { pace: ({ user }) => (user.email_confirmed ? null : CONFIRMED_MS) });
  const accounts = useResource("GET /v1/accounts", {}, { pace: ({ accounts: all }, ...so) => whileAny(all, ...so) });
  const read = useKept(useResource("GET /v1/overview", { period: currentPeriod(), order }, { pace: whileShown }));
  const overview = read.data?.overview;
  const onboarding = useOnboarding(overview);
  const { inUse } = onboarding;

  const reads = [me, accounts, read, ...onboarding.reads];
  useKeys([
    { keys: "n", says: t().site.add, does: () => visit("/sites/new") },
    {
      keys: "r",
      says: t().common.shortcuts.again,
      does: () => [onboarding.check, ...reads.map(({ again }) => again)].forEach((again) => again()),
    },
  ]);
  /** @type {import("../resource.js").Read<any> | undefined} */
  const waited = reads.find(({ error }) => error) ?? reads.find(({ data }) => data === undefined);
  return (
    <Page title={words.title} head={inUse && <Head />}>
      {waited && (
        <Loaded read={waited} rows={6}>
          {() => null}
        </Loaded>
      )}
      {me.data && accounts.data && overview && !onboarding.loading && (
        <>
          {(inUse || accounts.data.accounts.length > 0) && (
            <Attention
              needs={attention(
                me.data.user,
                accounts.data.accounts,
                overview.sites.entries.map(({ site }) => site),
                overview.links.broken,
              )}
            />
          )}
          {inUse ? (
            <div aria-busy={read.loading}>
              <Periods current={overview.period} />
              {/* Before the first push, the counts are unknown, so do not show zeros. */}
              {(overview.as_of || hasCounted(overview)) && <Totals overview={overview} />}
              {overview.sites.number > 0 && <Sites overview={overview} order={order} viewed={onboarding.viewed} />}
              {overview.links.number > 0 && <Links overview={overview} />}
            </div>
          ) : (
            <Steps
              user={me.data.user}
              accounts={accounts.data.accounts}
              sites={overview.sites.entries.map(({ site }) => site)}
              links={overview.links.entries.map(({ link }) => link)}
            />
          )}
        </>
      )}
    </Page>
  );
}

/** @returns {Order} the order in the URL */
function currentOrder() {
  const asked = address.value.searchParams.get("order") ?? "";
  return asked in t().overview.orders ? /** @type {Order} */ (asked) : "views";
}

const Head = () => (
  <p class="actions">
    <a class="button quiet" href="/links/new">
      {t().link.add}
    </a>
    <a class="button" href="/sites/new">
      {t().site.add}
    </a>
  </p>
);

/** The sums over all sites and links. @param {{overview: All}} props */
function Totals({ overview: { sites, links, from, to, as_of } }) {
  const words = t().overview;
  /** @param {string} name @param {number} now @param {number | undefined} before */
  const total = (name, now, before) => (
    <div>
      <dt>{name}</dt>
      <dd class="figure">{number(now)}</dd>
      <dd class="small before">
        <Change now={now} before={before} />
      </dd>
    </div>
  );
  return (
    <section class="overview-totals">
      <dl class="totals" aria-label={words.totals}>
        {sites.number > 0 && total(words.siteViews, sites.totals.views, sites.totals_before?.views)}
        {sites.number > 0 && total(words.siteVisitors, sites.totals.visitors, sites.totals_before?.visitors)}
        {links.number > 0 && total(words.linkClicks, links.totals.views, links.totals_before?.views)}
      </dl>
      <p class="small">
        <strong>{days(from, to)}</strong>
        {as_of && ` · ${words.counted(ago(as_of))}`}
        {" · "}
        {t().report.midnight(localMidnight())}
        {sites.number > 0 && from !== to && ` · ${t().report.perDay}`}
      </p>
    </section>
  );
}

/** @param {{overview: All, order: Order, viewed: string | undefined}} props `viewed`: see `Counting` */
function Sites({ overview: { sites, ...range }, order, viewed }) {
  const words = t().overview;
  return (
    <section aria-labelledby="sites">
      <div class="list-head">
        <h2 id="sites">{words.sites}</h2>
        {sites.number > 1 && (
          <Choice
            label={words.sort}
            value={order}
            options={words.orders}
            choose={(chosen) => setSearch({ order: chosen === "views" ? null : chosen })}
          />
        )}
      </div>
      <DataTable
        label={words.sites}
        rows={sites.entries}
        id={({ site }) => site.id}
        columns={[
          {
            label: words.site,
            cell: ({ site }) => (
              <>
                <a href={`/sites/${site.id}`}>{site.host}</a> <Counting site={site} viewed={site.id === viewed} />
              </>
            ),
          },
          ...columns(range, t().report.views),
        ]}
      />
      <p class="after">
        <a href="/sites">{words.allSites(sites.number)}</a>
      </p>
    </section>
  );
}

/** @param {{overview: All}} props */
function Links({ overview: { links, ...range } }) {
  const words = t().overview;
  return (
    <section aria-labelledby="links">
      <h2 id="links">{words.links}</h2>
      <DataTable
        label={words.links}
        rows={links.entries}
        id={({ link }) => link.id}
        columns={[
          {
            label: words.link,
            cell: ({ link }) => (
              <a href={`/links/${link.id}`}>{link.short_url?.replace(/^https:\/\//, "") ?? link.code}</a>
            ),
          },
          ...columns(range, t().report.clicks),
        ]}
      />
      <p class="after">
        <a href="/links">{words.allLinks(links.number)}</a>
      </p>
    </section>
  );
}

/**
 * The columns that sites and links have in common.
 * @param {Pick<All, "period" | "from" | "to">} range @param {string} counted the name of what is counted
 * @returns {import("../ui/data-table.jsx").Column<SiteEntry | LinkEntry>[]}
 */
function columns({ period, from, to }, counted) {
  const words = t().overview;
  /** @param {any} entry @param {number} views a dash instead of zero if the Worker has not sent the first view */
  const count = ({ site }, views) => (views || site?.first_view_at !== null ? number(views) : "–");
  /** @type {import("../ui/data-table.jsx").Column<SiteEntry | LinkEntry>} */
  const today = {
    label: words.today,
    kind: "number",
    cell: (entry) => count(entry, entry.series_30d.at(-1) ?? 0),
  };
  return [
    {
      label: words.trend,
      cell: ({ series_30d }) => <Sparkline values={series_30d} label={words.daily(list(series_30d.map(number)))} />,
    },
    ...(period === "today" ? [] : [today]),
    {
      label: `${counted}, ${days(from, to)}`,
      kind: "number primary",
      cell: (entry) => count(entry, entry.totals.views),
    },
    {
      label: words.change,
      kind: "number",
      cell: ({ totals, totals_before }) => <Change now={totals.views} before={totals_before?.views} brief />,
    },
  ];
}

/**
 * Shows the site's status unless the site is counting.
 * @param {{site: import("../wire").Site, viewed: boolean}} props `viewed`: its first view has been counted but not sent
 *   yet
 */
function Counting({ site: { state, config, first_view_at }, viewed }) {
  if (state !== "active") return <State state={state} />;
  if (config === "pending") return <State state="config_pending" />;
  if (viewed) return <Mark kind="good">{t().overview.firstView}</Mark>;
  return first_view_at === null ? <Mark kind="none">{t().overview.noView}</Mark> : null;
}
