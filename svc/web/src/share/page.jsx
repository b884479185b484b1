/** The public page of a share: its report, the form for its password, or the reason why it is not available. */

import { useSignal } from "@preact/signals";

import { ago, days, localHour, number } from "../format.js";
import { product } from "../operator.js";
import { changed, rangeOf, withRange, withoutRange } from "../range.js";
import { address, go } from "../router.js";
import { slotsOf } from "../series.js";
import { Breakdowns } from "../ui/breakdowns.jsx";
import { Chart } from "../ui/chart.jsx";
import { DataTable } from "../ui/data-table.jsx";
import { Form, Password } from "../ui/form.jsx";
import { MissingBreakdowns } from "../ui/missing-breakdowns.jsx";
import { Empty, ErrorMessage, Note, Page, Skeleton } from "../ui/parts.jsx";
import { Totals } from "../ui/totals.jsx";
import { t } from "../words.js";
import { sharePath, shownSite, signIn, sitePath, useShared } from "./reading.js";

/**
 * @typedef {import("../wire").SharedReport} SharedReport
 * @typedef {import("../wire").Report} Report
 * @typedef {NonNullable<SharedReport["account"]>} SharedSites
 * @typedef {NonNullable<SharedReport["share"]["periods"]>[number]} Period
 */

/** @type {Period[]} */
const PERIODS = ["today", "yesterday", "7d", "30d", "month", "last_month", "12mo", "year", "all"];
// The maximum number of entries per list that the service returns.
const MOST_LISTED = 100;

export function SharePage() {
  const token = useSignal("");
  return (
    <>
      <Shown key={shownSite()} token={token} />
      <footer class="powered small">
        {t().shares.page.poweredBy}{" "}
        <a href="/" target="_blank" rel="noopener noreferrer">
          {product}
        </a>
      </footer>
    </>
  );
}

/** @param {{token: import("@preact/signals").Signal<string>}} props `token`: of the viewer, or "" */
function Shown({ token }) {
  const search = address.value.searchParams;
  const { period, from, to } = rangeOf(search);
  const days = { period: search.has("period") || from || to ? period : undefined, from, to };
  const read = useShared(days, token.value);
  const { data, error } = read;
  const words = t().shares.page;
  if (error?.code === "unauthorized") {
    const opened = (/** @type {string} */ found) => {
      token.value = found;
      // If the share no longer has a password, the token is still empty, and only this reads the report.
      read.again();
    };
    return <Protected opened={opened} />;
  }
  if (error?.code === "not_found") {
    return (
      <Page title={words.ended} narrow>
        <p>{words.endedText}</p>
        <AllSites />
      </Page>
    );
  }
  return (
    <Page title={data?.share.title ?? data?.share.name ?? words.title}>
      {data?.share.title && <p class="lead">{data.share.name}</p>}
      <AllSites />
      {data && <Range share={data.share} shown={data.report ?? data.account} />}
      {error && <Problem error={error} again={read.again} />}
      {!data && !error && <Skeleton rows={8} />}
      {data?.report && <Counts data={data} report={data.report} asked={days} token={token.value} busy={read.loading} />}
      {data?.account && <Sites account={data.account} busy={read.loading} />}
    </Page>
  );
}

/** On the page of one of an account's sites: the link to the list of all sites, for the same days. */
function AllSites() {
  if (!shownSite()) return null;
  const search = changed(address.value.searchParams, { source: undefined });
  return (
    <p>
      <a href={`${sharePath()}${search}`}>{t().shares.page.allSites}</a>
    </p>
  );
}

/** @param {{error: import("../http.js").ApiError, again: () => void}} props */
function Problem({ error, again }) {
  const words = t().shares.page;
  if (error.code !== "invalid_request") return <ErrorMessage error={error} again={again} />;
  return (
    <Note kind="watch">
      <p>{words.notOffered}</p>
      <p class="actions">
        <a class="button quiet" href={withoutRange(address.value.searchParams)}>
          {words.showDefault}
        </a>
      </p>
    </Note>
  );
}

/** @param {{opened: (token: string) => void}} props */
function Protected({ opened }) {
  const words = t().shares.page;
  return (
    <Page title={words.protected} narrow>
      <p>{words.protectedText}</p>
      <Form guard={false} submit={words.open} send={async ({ password = "" }) => opened(await signIn(password))}>
        <Password name="password" label={t().shares.password} autocomplete="current-password" required />
      </Form>
    </Page>
  );
}

/**
 * The choice of the period: the periods that the share offers, or all periods and any days.
 * @param {{share: SharedReport["share"], shown: {period: string, from: string, to: string} | undefined}} props
 */
function Range({ share, shown }) {
  const words = t().range;
  const search = address.value.searchParams;
  const offered = share.periods ?? PERIODS;
  if (offered.length === 1) return null;
  return (
    <>
      <nav class="tabs periods" aria-label={t().report.period}>
        {PERIODS.filter((one) => offered.includes(one)).map((period) => (
          <a
            key={period}
            class="tab"
            href={withRange(search, { period })}
            aria-current={period === shown?.period ? "true" : undefined}
          >
            {nameOf(period)}
          </a>
        ))}
      </nav>
      {!share.periods && (
        <form
          class="days"
          onSubmit={(event) => {
            event.preventDefault();
            const fields = new FormData(event.currentTarget);
            go(withRange(search, { from: String(fields.get("from")), to: String(fields.get("to")) }));
          }}
        >
          <Day name="from" label={words.from} value={shown?.from} />
          <Day name="to" label={words.to} value={shown?.to} />
          <button type="submit" class="quiet">
            {words.show}
          </button>
        </form>
      )}
    </>
  );
}

/** @param {{name: "from" | "to", label: string, value: string | undefined}} props */
const Day = ({ name, label, value }) => (
  <p class="field">
    <label for={`day-${name}`}>{label}</label>
    <input
      key={value}
      id={`day-${name}`}
      type="date"
      name={name}
      defaultValue={value}
      min="0001-01-01"
      max={new Date().toISOString().slice(0, 10)}
      required
    />
  </p>
);

/** @param {Period} period @returns {string} */
const nameOf = (period) => {
  /** @type {Record<string, string>} */
  const names = { ...t().report.periods, ...t().range.periods };
  return names[period] ?? period;
};

/**
 * @param {{data: SharedReport, report: Report, asked: Record<string, unknown>, token: string, busy: boolean}} props
 *   `asked`: the days in the request
 */
function Counts({ data, report, asked, token, busy }) {
  const { share } = data;
  const kind = share.kind === "link" ? "link" : "site";
  const words = t().report;
  const bots = useSignal(false);
  const none = report.totals.views + report.totals.bots === 0;
  return (
    <div class="report" aria-busy={busy}>
      <Totals kind={kind} report={report} compared={false} />
      <Counted from={report.from} to={report.to} as_of={report.as_of} />
      {report.incomplete && (
        <Note kind="watch">
          <p>{words.incomplete}</p>
        </Note>
      )}
      {none ? (
        <Empty>
          <p>{words.nothing[kind]}</p>
        </Empty>
      ) : (
        <Chart
          kind={kind}
          by={report.by ?? "day"}
          slots={slotsOf(report)}
          compared={false}
          comparison=""
          bots={bots.value}
          toggle={{ compared: () => {}, bots: () => (bots.value = !bots.value) }}
          more={null}
        />
      )}
      {share.lists && <Lists kind={kind} share={share} asked={asked} token={token} hidden={none} />}
    </div>
  );
}

/** @param {{from: string, to: string, as_of: string | null}} props */
const Counted = ({ from, to, as_of }) => (
  <p class="small">
    <strong>{days(from, to)}</strong> (UTC){" · "}
    {as_of ? t().report.countedUpTo(ago(as_of)) : t().report.notCounted}
    {from !== to && ` · ${t().report.perDay}`}
  </p>
);

/**
 * @param {{
 *   kind: "site" | "link",
 *   share: SharedReport["share"],
 *   asked: Record<string, unknown>,
 *   token: string,
 *   hidden: boolean,
 * }} props `hidden`: true if nothing was counted
 */
function Lists({ kind, share, asked, token, hidden }) {
  const words = t().shares.page;
  const expanded = useSignal(/** @type {import("../breakdown-lists.js").Name[]} */ ([]));
  const source = address.value.searchParams.get("source");
  const all = expanded.value.length > 0 || source !== null;
  const read = useShared(hidden ? null : { ...asked, breakdowns: "1", ...(all && { limit: MOST_LISTED }) }, token);
  if (hidden) return null;
  const listed = read.data?.report;
  return (
    <section aria-labelledby="lists" aria-busy={read.loading}>
      <h2 id="lists">{t().report.lists}</h2>
      <div class="lists">
        {read.error && <Problem error={read.error} again={read.again} />}
        {!listed && !read.error && <Skeleton rows={6} />}
        {listed?.unavailable && (
          <Note kind="watch">
            <p>{read.data?.lists_at ? words.listsLater(localHour(read.data.lists_at)) : words.noLists}</p>
          </Note>
        )}
        {listed && !listed.unavailable && listed.breakdowns_missing && (
          <MissingBreakdowns missing={listed.breakdowns_missing} />
        )}
        {listed?.breakdowns && (
          <Breakdowns
            kind={kind}
            host={kind === "site" ? (share.title ?? "") : ""}
            lists={listed.breakdowns}
            expanded={expanded.value}
            expand={(lists) => (expanded.value = lists)}
          />
        )}
      </div>
    </section>
  );
}

/** @param {{account: SharedSites, busy: boolean}} props the sites of an account with their totals */
function Sites({ account, busy }) {
  const words = t().report;
  return (
    <div class="report" aria-busy={busy}>
      <Totals kind="site" report={{ period: account.period, totals: account.totals }} compared={false} />
      <Counted from={account.from} to={account.to} as_of={account.as_of} />
      {account.sites.length === 0 ? (
        <Empty>
          <p>{t().shares.page.noSites}</p>
        </Empty>
      ) : (
        <DataTable
          label={t().shares.page.sites}
          rows={account.sites}
          id={({ id }) => id}
          columns={[
            {
              label: t().shares.page.site,
              cell: ({ id, host }) => <a href={`${sitePath(id)}${changed(address.value.searchParams, {})}`}>{host}</a>,
            },
            { label: words.views, kind: "number primary", cell: ({ totals }) => number(totals.views) },
            { label: words.visitors, kind: "number", cell: ({ totals }) => number(totals.visitors) },
          ]}
        />
      )}
    </div>
  );
}
