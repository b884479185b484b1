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
  /** @param {keyof Counts} count @param {string} name @param {string} [note] */
  const total = (count, name, note) => (
    <div class={count}>
      <dt>
        {name}
        {note && <span class="small"> ({note})</span>}
      </dt>
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
      {total("bots", words.botsRemoved, bots > 0 ? percent(bots / (views + bots)) : "")}
    </dl>
  );
}
