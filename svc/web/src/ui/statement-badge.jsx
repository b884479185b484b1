/** A badge with the statement of counts for a report's last day, and a link to the account's full statement. */

import { days, number } from "../format.js";
import { addDays } from "../series.js";
import { summary } from "../statement.js";
import { t } from "../words.js";
import { Mark } from "./parts.jsx";

/** @type {Record<import("../statement.js").Verdict, "good" | "busy" | "watch" | "bad">} */
const KINDS = { agrees: "good", open: "busy", lost: "watch", differs: "bad" };

/** @param {{report: import("../wire").Report, accountId: string}} props */
export function StatementBadge({ report, accountId }) {
  const words = t().statement;
  const { statement, to, unavailable } = report;
  const found = statement && summary(statement);
  // A new Worker begins its statement with its first hourly run.
  const absent = unavailable ? words.unavailable : Date.parse(addDays(to, 1)) > Date.now() ? words.soon : words.unknown;
  return (
    <>
      <strong>{days(to, to)}</strong>
      {" · "}
      {!found ? (
        <Mark kind="none">{absent}</Mark>
      ) : found.arrived + found.stored === 0 ? (
        <Mark kind="none">{words.nothing}</Mark>
      ) : (
        <>
          <Mark kind={KINDS[found.verdict]}>
            {words.counts(number(found.arrived), number(found.counted), number(found.stored))}
          </Mark>
          {" · "}
          {words.verdicts[found.verdict](number(found.dropped))}
        </>
      )}
      {" · "}
      <a href={`/accounts/${accountId}?day=${to}#ledger`}>{words.full}</a>
    </>
  );
}
