/** Names the days of a report that its breakdowns do not cover. */

import { days, list } from "../format.js";
import { t } from "../words.js";

/** @param {{missing: NonNullable<import("../wire").Report["breakdowns_missing"]>}} props */
export function MissingBreakdowns({ missing }) {
  const words = t().range.missing;
  return (
    <>
      {missing.map(({ from, to, reason, lists = [] }) => (
        <p key={`${from} ${reason}`} class="small">
          {reason === "not_counted"
            ? words.not_counted(days(from, to), list(lists.map((name) => t().range.lists[name])))
            : words[reason === "not_kept" || reason === "imported" ? reason : "unavailable"](days(from, to))}
        </p>
      ))}
    </>
  );
}
