/** The report of a site or link: totals, chart and breakdowns. */

import { useSignal } from "@preact/signals";

import { ago, days, localMidnight } from "../format.js";
import { useShown } from "../in-view.js";
import { useKept } from "../kept.js";
import { useKeys } from "../keys.js";
import { useReportChoices } from "../report-choices.js";
import { reportPart } from "../report-part.jsx";
import { useResource } from "../resource.js";
import { isCompared, runningSlot, slotsOf } from "../series.js";
import { t } from "../words.js";
import { Chart } from "./chart.jsx";
import { Empty, Loaded, Note } from "./parts.jsx";
import { Periods } from "./periods.jsx";
import { Totals } from "./totals.jsx";

const Breakdowns = reportPart("Breakdowns");
const NoteMarks = reportPart("NoteMarks");
const Notes = reportPart("Notes");
const MissingBreakdowns = reportPart("MissingBreakdowns");
const RangePicker = reportPart("RangePicker");
const RangeProblem = reportPart("RangeProblem");
const DaysExport = reportPart("DaysExport");
const ReportExport = reportPart("ReportExport");
const StatementBadge = reportPart("StatementBadge");
const Unavailable = reportPart("Unavailable");

/**
 * @typedef {"site" | "link"} Kind
 * @typedef {import("../wire").Report} What
 * @typedef {import("../series.js").Counts} Counts
 */

// Polling interval. The service caches live data for five minutes, but a push can bring newer numbers earlier.
const LIVE_AGAIN_MS = 60_000;
const REFUSED_AGAIN_MS = 30_000;
// The maximum number of entries per list that the service returns.
const MOST_LISTED = 100;

/** @type {{site: "GET /v1/sites/{site_id}/report", link: "GET /v1/links/{link_id}/report"}} */
const REPORT = { site: "GET /v1/sites/{site_id}/report", link: "GET /v1/links/{link_id}/report" };

/**
 * The parameters of a report's requests.
 * @param {Kind} kind @param {string} id @param {Pick<ReturnType<typeof useReportChoices>, "range" | "compare">} choices
 * @returns {{own: any, stored: any, latest: any}} `own`: the id; `stored`: the parameters of the stored numbers;
 *   `latest`: those of the latest numbers
 */
function paramsOf(kind, id, { range, compare }) {
  const own = kind === "site" ? { site_id: id } : { link_id: id };
  const stored = { ...own, ...range, compare };
  return { own, stored, latest: { ...stored, statement: "1", ...(kind === "site" && { live: "1" }) } };
}

/**
 * Read the numbers that `Report` shows first. A page calls this to read them at the same time as its site or link.
 * @param {Kind} kind @param {string} id
 */
export function useFirstNumbers(kind, id) {
  const { stored, latest } = paramsOf(kind, id, useReportChoices());
  useResource(REPORT[kind], kind === "site" ? stored : latest);
}

/**
 * A report. The URL holds the period, the step, the comparison and the display options.
 * @param {{kind: Kind, id: string, name: string, accountId: string, split?: import("../wire").Link["split"]}} props
 *   `name`: the name of the CSV file; `split`: the variants of a link
 */
export function Report({ kind, id, name, accountId, split = null }) {
  const choices = useReportChoices();
  const { search, range, compare, comparison, bots, toggle, keys } = choices;
  const params = paramsOf(kind, id, choices);
  // The service reads the breakdowns of each period from the account's database, and limits these reads. After a change
  // of the period, the page therefore requests breakdowns only if the user scrolls to them.
  const { place, shown } = useShown(`${kind} ${id} ${JSON.stringify(range)}`);
  const expanded = useSignal(/** @type {import("../breakdown-lists.js").Name[]} */ ([]));
  const numbers = useNumbers(kind, params);
  const isInvalid = numbers.error?.code === "invalid_request";
  const read = useKept(numbers);
  const report = read.data?.report;
  // Load the other parts after the chart, which the user sees first.
  const ready = report || numbers.error;
  const lists =
    shown && ready && !isInvalid
      ? {
          ...params.own,
          ...range,
          breakdowns: "1",
          ...((expanded.value.length > 0 || search.has("source")) && { limit: MOST_LISTED }),
        }
      : null;
  const live = useKept(useResource(REPORT[kind], lists, { pace: livePace, later: true }));
  const slots = report ? slotsOf(report) : [];
  const noteDay = useSignal(/** @type {string | null} */ (null));
  const words = t().report;
  useKeys([
    ...keys,
    { keys: "r", says: t().common.shortcuts.again, does: () => [read, live].forEach((one) => one.again()) },
  ]);

  return (
    <div class="report">
      <Periods current={range.period} />
      <div class="range-place">
        {/* The code of this component is loaded after the chart is drawn. */}
        {ready && <RangePicker report={isInvalid ? undefined : report} />}
      </div>
      {isInvalid ? (
        <RangeProblem error={numbers.error} />
      ) : (
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
                {!(withoutToday && report.from === report.to) && (
                  <>
                    <Totals kind={kind} report={report} compared={compare !== undefined} />
                    <Counted report={report} />
                    {/* Reserve the space of this line, so that the chart does not move when the text appears. */}
                    <p class="statement small">
                      {!numbers.isStored && <StatementBadge report={report} accountId={accountId} />}
                    </p>
                    {nothing(report.totals) && !isCompared(report.comparison) ? (
                      <Empty>
                        <p>{words.nothing[kind]}</p>
                      </Empty>
                    ) : (
                      <Chart
                        kind={kind}
                        by={report.by ?? "day"}
                        slots={slots}
                        compared={compare !== undefined}
                        comparison={report.period === "all" ? "" : comparison}
                        bots={bots}
                        toggle={toggle}
                        choose={(day) => (noteDay.value = day)}
                        below={<NoteMarks kind={kind} id={id} report={report} slots={slots} />}
                        more={<DaysExport kind={kind} id={id} name={name} />}
                      />
                    )}
                    <div class="notes-place">
                      <Notes kind={kind} id={id} accountId={accountId} report={report} day={noteDay} />
                    </div>
                  </>
                )}
              </div>
            );
          }}
        </Loaded>
      )}
      <div class="lists" ref={place}>
        {/* Show this only once the numbers are ready. A placeholder would move when the numbers appear above it. */}
        {!isInvalid && ready && (
          <Loaded read={live} rows={6}>
            {({ report: listed }) => (
              <div aria-busy={live.loading}>
                <Lists
                  kind={kind}
                  host={kind === "site" ? name : ""}
                  split={split}
                  report={listed}
                  again={live.again}
                  expanded={expanded.value}
                  expand={(lists) => (expanded.value = lists)}
                />
                {report && !nothing(report.totals) && (
                  <ReportExport
                    kind={kind}
                    name={name}
                    by={report.by}
                    slots={slots}
                    lists={listed.breakdowns}
                    expanded={expanded.value}
                  />
                )}
              </div>
            )}
          </Loaded>
        )}
      </div>
    </div>
  );
}

/**
 * Read the latest numbers. Until a site's live numbers have been read, its stored numbers are shown. If the Worker has
 * not sent any numbers, nothing is shown, because zeros would be wrong.
 * @param {Kind} kind @param {ReturnType<typeof paramsOf>} params
 * @returns {import("../resource.js").Read<{report: What}> & {isStored?: boolean}} `isStored`: the live numbers have not
 *   been read yet
 */
function useNumbers(kind, params) {
  // If the stored numbers are known, they are drawn first.
  const live = useResource(REPORT[kind], params.latest, { pace: livePace, later: true });
  const stored = useResource(REPORT[kind], kind === "site" ? params.stored : null);
  return live.data || !stored.data?.report.as_of ? live : { ...stored, again: live.again, isStored: true };
}

/**
 * @typedef {Parameters<typeof import("./breakdowns.jsx").Breakdowns>[0]} Shown
 * @param {Omit<Shown, "lists"> & {report: What, again: () => void}} props see `Breakdowns`
 */
function Lists({ report, again, ...shown }) {
  const { breakdowns, breakdowns_missing: missing } = report;
  const empty = !breakdowns || Object.values(breakdowns).every((list) => list.length === 0);
  // If there are counts only on days without breakdowns, explain why the lists are empty.
  if (empty && nothing(report.totals) && !report.unavailable) return null;
  return (
    <section aria-labelledby="lists">
      <h2 id="lists">{t().report.lists}</h2>
      <Unavailable report={report} again={again} again_ms={REFUSED_AGAIN_MS} />
      {!report.unavailable && missing && <MissingBreakdowns missing={missing} />}
      {breakdowns && !empty && <Breakdowns {...shown} lists={breakdowns} />}
    </section>
  );
}

/** @param {Counts | null | undefined} counts */
const nothing = (counts) => !counts || counts.views + counts.bots === 0;

/** @type {import("../resource.js").Pace} */
const livePace = ({ report }) =>
  report.unavailable === "rate_limited" ? REFUSED_AGAIN_MS : report.period === "today" ? LIVE_AGAIN_MS : null;

/**
 * @param {{report: Pick<What, "from" | "to" | "as_of" | "series" | "comparison"> & {incomplete?: boolean}}} props shows
 *   the days, the time of the last count, how visitors are counted, and what is missing
 */
export function Counted({ report }) {
  const words = t().report;
  const { comparison } = report;
  const isRunning = runningSlot(slotsOf({ ...report, by: "day" }), Date.now()) >= 0;
  return (
    <>
      <p class="small">
        <strong>{days(report.from, report.to)}</strong>
        {" · "}
        {report.as_of ? words.countedUpTo(ago(report.as_of)) : words.notCounted}
        {" · "}
        {words.midnight(localMidnight())}
        {report.from !== report.to && ` · ${words.perDay}`}
        {isCompared(comparison) && (
          <>
            {". "}
            {words.comparedWith(days(comparison.from, comparison.to))}
            {isRunning && ` ${words.inProgress}`}
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
