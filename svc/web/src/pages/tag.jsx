/** The report of a tag: the sums of all links that have the tag now. */

import { useKept } from "../kept.js";
import { useKeys } from "../keys.js";
import { useReportChoices } from "../report-choices.js";
import { useResource } from "../resource.js";
import { isCompared, slotsOf } from "../series.js";
import { Chart } from "../ui/chart.jsx";
import { Empty, Loaded, Page } from "../ui/parts.jsx";
import { Periods } from "../ui/periods.jsx";
import { RangePicker, RangeProblem } from "../ui/report-parts.jsx";
import { Counted } from "../ui/report.jsx";
import { tagged } from "../ui/tags.jsx";
import { Totals } from "../ui/totals.jsx";
import { t } from "../words.js";

/** @param {{id: string}} props `id`: the tag */
export function TagReport({ id: tag }) {
  const words = t().linkFields;
  const { range, compare, comparison, bots, toggle, keys } = useReportChoices();
  const numbers = useResource("GET /v1/tags/{tag}/report", { tag, ...range, ...(compare && { compare }) });
  const read = useKept(numbers);
  const invalid = numbers.error?.code === "invalid_request" ? numbers.error : null;
  const report = read.data?.report;
  useKeys([...keys, { keys: "r", says: t().common.shortcuts.again, does: read.again }]);
  return (
    <Page
      title={words.tagTitle(tag)}
      head={
        <a class="button quiet" href={tagged(tag)}>
          {words.showTagged}
        </a>
      }
    >
      <p class="hint">{words.tagExplain}</p>
      <div class="report">
        <Periods current={range.period} />
        <div class="range-place">
          {(report || numbers.error) && <RangePicker report={invalid ? undefined : report} />}
        </div>
        {invalid ? (
          <RangeProblem error={invalid} />
        ) : (
          <Loaded read={read} rows={8}>
            {({ report }) => (
              <div aria-busy={read.loading}>
                <Totals kind="link" report={report} compared={compare !== undefined} />
                <Counted report={report} />
                {report.totals.views + report.totals.bots === 0 && !isCompared(report.comparison) ? (
                  <Empty>
                    <p>{t().report.nothing.link}</p>
                  </Empty>
                ) : (
                  <Chart
                    kind="link"
                    by={report.by ?? "day"}
                    slots={slotsOf(report)}
                    compared={compare !== undefined}
                    comparison={report.period === "all" ? "" : comparison}
                    bots={bots}
                    toggle={toggle}
                    more={null}
                  />
                )}
              </div>
            )}
          </Loaded>
        )}
      </div>
    </Page>
  );
}
