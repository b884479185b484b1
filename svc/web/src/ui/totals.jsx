/** The totals of a report, compared with the previous period. */

import { days, number, percent } from "../format.js";
import { isCompared } from "../series.js";
import { t } from "../words.js";
import { Change } from "./change.jsx";

/** @typedef {import("../wire").Report} Report */

/**
 * @param {{
 *   kind: "site" | "link",
 *   report: Pick<Report, "period" | "totals" | "comparison">,
 *   compared: boolean,
 * }} props `compared`: true to reserve the space for the comparison while it is loading
 */
export function Totals({ kind, report, compared }) {
  const words = t().report;
  const { comparison } = report;
  const before = isCompared(comparison) ? comparison.totals : null;
  /** @param {"views" | "visitors"} count @param {string} name */
  const total = (count, name) => (
    <div class={count}>
      <dt>{name}</dt>
      <dd class="figure">{number(report.totals[count])}</dd>
      {compared && (
        <dd class="small before">
          {before && comparison && report.period === "today"
            ? words.onDay(number(before[count]), days(comparison.from, comparison.to))
            : comparison && <Change now={report.totals[count]} before={before?.[count]} />}
        </dd>
      )}
    </div>
  );
  const { views, bots } = report.totals;
  return (
    <dl class="totals" aria-label={words.totals}>
      {total("views", kind === "site" ? words.views : words.clicks)}
      {total("visitors", words.visitors)}
      <div class="bots">
        <dt>{words.botsRemoved}</dt>
        <dd class="figure">{percent(bots / Math.max(1, views + bots))}</dd>
        <dd class="small before">{words.ofRequests(number(bots), number(views + bots))}</dd>
      </div>
    </dl>
  );
}
