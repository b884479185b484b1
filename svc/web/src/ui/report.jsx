/** The report of a site or link: totals, chart and breakdowns. */

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";

import { ask } from "../api.js";
import { saveFile } from "../files.js";
import { ago, days, localMidnight, span } from "../format.js";
import { useShown } from "../in-view.js";
import { useKept } from "../kept.js";
import { useKeys } from "../keys.js";
import { later } from "../later.jsx";
import { useResource } from "../resource.js";
import { address, setSearch } from "../router.js";
import { firstListed, periodBefore, slotsOf, sum, sumFrom } from "../series.js";
import { t } from "../words.js";
import { Chart } from "./chart.jsx";
import { Empty, ErrorMessage, Loaded, Note, useCountdown } from "./parts.jsx";
import { Periods, currentPeriod } from "./periods.jsx";
import { StatementBadge } from "./statement-badge.jsx";
import { Totals } from "./totals.jsx";
import { useWrite } from "./write.js";

const Breakdowns = later("Breakdowns", { part: true });

/**
 * @typedef {"site" | "link"} Kind
 * @typedef {import("../wire").Report} What
 * @typedef {import("./periods.jsx").Period} Period
 * @typedef {import("../series.js").Counts} Counts
 */

// The service caches live data for five minutes, but a push can be newer.
const LIVE_AGAIN_MS = 60_000;
const REFUSED_AGAIN_MS = 30_000;
// The most entries of a list that the service returns.
const MOST_LISTED = 100;

/** @type {{site: "GET /v1/sites/{site_id}/report", link: "GET /v1/links/{link_id}/report"}} */
const REPORT = { site: "GET /v1/sites/{site_id}/report", link: "GET /v1/links/{link_id}/report" };
/** @type {{site: "GET /v1/sites/{site_id}/totals", link: "GET /v1/links/{link_id}/totals"}} */
const TOTALS = { site: "GET /v1/sites/{site_id}/totals", link: "GET /v1/links/{link_id}/totals" };

/**
 * A report. The URL holds the period and the display options.
 * @param {{kind: Kind, id: string, name: string, accountId: string}} props `name`: the name of the CSV file
 */
export function Report({ kind, id, name, accountId }) {
  const asked = address.value.searchParams;
  const period = currentPeriod();
  const compared = asked.get("compare") !== "off";
  const bots = asked.get("bots") === "on";
  const toggle = {
    compared: () => setSearch({ compare: compared ? "off" : null }),
    bots: () => setSearch({ bots: bots ? null : "on" }),
  };

  const own = /** @type {any} */ (kind === "site" ? { site_id: id } : { link_id: id });
  const today = period === "today";
  // The breakdowns of each period must be read from the account's database, and these reads are limited.
  const { place, shown } = useShown(`${kind} ${id} ${period}`);
  const expanded = useSignal(/** @type {import("./breakdowns.jsx").Name[]} */ ([]));
  const lists = shown
    ? {
        ...own,
        period,
        by: today ? "hour" : "day",
        breakdowns: "1",
        ...(expanded.value.length > 0 && { limit: MOST_LISTED }),
      }
    : null;
  const live = useKept(useResource(REPORT[kind], lists, { pace: livePace(today) }));
  const numbers = useNumbers(kind, own, period);
  const read = useKept(numbers);
  const report = read.data?.report;
  const days = compared && report ? { ...own, ...periodBefore(report) } : null;
  const before = useResource(TOTALS[kind], days && { ...days, by: "day" });
  const hourly = report?.period === "today";
  const hoursBefore = useResource(TOTALS[kind], days && hourly ? { ...days, by: "hour" } : null);
  const sums = before.data && (before.data.totals.length > 0 ? sum(before.data.totals) : null);
  const course = (hourly ? hoursBefore : before).data?.totals ?? null;
  const slots = report ? slotsOf(report, compared ? course : null) : [];

  const words = t().report;
  const again = () => [read, live, before].forEach((one) => one.again());
  useKeys([
    { keys: "x", says: words.compare, does: toggle.compared },
    { keys: "r", says: t().common.shortcuts.again, does: again },
  ]);

  return (
    <div class="report">
      <Periods current={period} />
      <Loaded read={read} rows={8}>
        {({ report }) => {
          // Do not show unknown numbers as zero.
          const withoutToday =
            kind === "link" && (report.unavailable === "cloudflare" || report.unavailable === "rate_limited");
          return (
            <div aria-busy={read.loading}>
              {withoutToday && (
                <Note kind="watch">
                  <p>{words.withoutToday}</p>
                </Note>
              )}
              {!(withoutToday && hourly) && (
                <>
                  <Totals kind={kind} report={report} before={sums} compared={compared} />
                  <Counted report={report} compared={Boolean(sums)} />
                  <StatementBadge report={numbers.isStored ? null : report} accountId={accountId} />
                  {nothing(report.totals) && nothing(sums) ? (
                    <Empty>
                      <p>{words.nothing[kind]}</p>
                    </Empty>
                  ) : (
                    <Chart
                      kind={kind}
                      hourly={hourly}
                      slots={slots}
                      compared={compared}
                      bots={bots}
                      toggle={toggle}
                      more={<Download kind={kind} id={id} name={name} />}
                    />
                  )}
                </>
              )}
            </div>
          );
        }}
      </Loaded>
      <div class="lists" ref={place}>
        <Loaded read={live} rows={6}>
          {({ report }) => (
            <div aria-busy={live.loading}>
              {report.breakdowns ? (
                <Lists
                  kind={kind}
                  host={kind === "site" ? name : ""}
                  name={name}
                  report={report}
                  slots={slots}
                  lists={report.breakdowns}
                  expanded={expanded.value}
                  toggle={(list) =>
                    (expanded.value = expanded.value.includes(list)
                      ? expanded.value.filter((one) => one !== list)
                      : [...expanded.value, list])
                  }
                />
              ) : (
                <Unavailable report={report} again={live.again} />
              )}
            </div>
          )}
        </Loaded>
      </div>
    </div>
  );
}

/**
 * Read the latest numbers. Until a site's live numbers have been read, its stored numbers are shown, unless the worker
 * has not sent any: zeros would be wrong.
 * @param {Kind} kind @param {any} own the parameter with the id @param {Period} period
 * @returns {import("../resource.js").Read<{report: What}> & {isStored?: boolean}} `isStored`: the live numbers have not
 *   been read yet
 */
function useNumbers(kind, own, period) {
  const isSite = kind === "site";
  const asked = { ...own, period, statement: "1", ...(isSite && { live: "1" }) };
  const live = useResource(REPORT[kind], asked, { pace: livePace(period === "today") });
  const stored = useResource(REPORT[kind], isSite ? { ...own, period } : null);
  return live.data || !stored.data?.report.as_of ? live : { ...stored, again: live.again, isStored: true };
}

/**
 * @typedef {Parameters<typeof import("./breakdowns.jsx").Breakdowns>[0]} Shown
 * @param {Omit<Shown, "totals" | "from"> & {report: What}} props see `Breakdowns`
 */
function Lists({ report, ...shown }) {
  const { lists } = shown;
  const from = firstListed(report);
  const empty = Object.values(lists).every((list) => list.length === 0);
  // If there are totals for days whose breakdowns were deleted, show the lists, which then explain why they are empty.
  if (empty && (from === null || nothing(report.totals))) return null;
  const totals = from === null ? report.totals : sumFrom(report, from);
  return <Breakdowns {...shown} totals={totals} from={from} />;
}

/** @param {Counts | null | undefined} counts */
const nothing = (counts) => !counts || counts.views + counts.bots === 0;

/** @param {boolean} today @returns {import("../resource.js").Pace} */
const livePace =
  (today) =>
  ({ report }) =>
    report.unavailable === "rate_limited" ? REFUSED_AGAIN_MS : today ? LIVE_AGAIN_MS : null;

/** @param {{report: What, compared: boolean}} props the time of the last count, and what is missing */
function Counted({ report, compared }) {
  const words = t().report;
  const { from, to } = periodBefore(report);
  return (
    <>
      <p class="small">
        <strong>{days(report.from, report.to)}</strong>
        {" · "}
        {report.as_of ? words.countedUpTo(ago(report.as_of)) : words.notCounted}
        {" · "}
        {words.midnight(localMidnight())}
        {compared && (
          <>
            {". "}
            {report.period === "today" ? words.comparedWithYesterday : words.comparedWith(days(from, to))}
          </>
        )}
      </p>
      {report.incomplete && (
        <Note kind="watch">
          <p>{words.incomplete}</p>
        </Note>
      )}
    </>
  );
}

/** @param {{report: What, again: () => void}} props why live data is unavailable */
function Unavailable({ report, again }) {
  const words = t().report;
  const read = useRef({ report, at_ms: Date.now() });
  if (read.current.report !== report) read.current = { report, at_ms: Date.now() };
  const limited = report.unavailable === "rate_limited";
  const left_s = useCountdown(limited ? read.current.at_ms + REFUSED_AGAIN_MS : null);
  if (!report.unavailable) return null;
  return (
    <Note kind="watch">
      <p>{words.unavailable[report.unavailable]}</p>
      {report.unavailable === "cloudflare" && (
        <p class="actions">
          <button type="button" class="quiet" onClick={again}>
            {t().common.again}
          </button>
        </p>
      )}
      {left_s > 0 && <p>{t().common.againIn(span(left_s))}</p>}
    </Note>
  );
}

/** The CSV export of all stored days. @param {{kind: Kind, id: string, name: string}} props */
function Download({ kind, id, name }) {
  const { busy, error, run } = useWrite();
  const download = async () => {
    const path = `/v1/${kind}s/${encodeURIComponent(id)}/totals`;
    const response = await ask("GET", path, { headers: { Accept: "text/csv" } });
    saveFile(await response.blob(), `${name.replace(/[^\w.-]+/g, "-")}.csv`);
  };
  return (
    <div class="download">
      {error && <ErrorMessage error={error} />}
      <button type="button" class="quiet" aria-disabled={busy} onClick={() => run(download)}>
        {busy ? t().common.busy : t().report.export}
      </button>
    </div>
  );
}
