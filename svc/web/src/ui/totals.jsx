/** The totals of a report, compared with the period before. */

import { number, percent } from "../format.js";
import { t } from "../words.js";
import { Change } from "./change.jsx";

/** @typedef {import("../series.js").Counts} Counts */

/**
 * @param {{
 *   kind: "site" | "link",
 *   report: Pick<import("../wire").Report, "period" | "totals">,
 *   before: Counts | null | undefined,
 *   compared: boolean,
 * }} props `before`: null if nothing was counted, undefined while loading; `compared`: reserve the space of `before`
 *   while it is loading
 */
export function Totals({ kind, report, before, compared }) {
  const words = t().report;
  /** @param {"views" | "visitors"} count @param {string} name */
  const total = (count, name) => (
    <div class={count}>
      <dt>{name}</dt>
      <dd class="figure">{number(report.totals[count])}</dd>
      {compared && (
        <dd class="small before">
          {before && report.period === "today"
            ? words.yesterday(number(before[count]))
            : before !== undefined && <Change now={report.totals[count]} before={before?.[count]} />}
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
