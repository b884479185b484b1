/** The reason why the breakdowns and live data of a report are unavailable. */

import { useRef } from "preact/hooks";

import { span } from "../format.js";
import { t } from "../words.js";
import { Note, useCountdown } from "./parts.jsx";

/**
 * @param {{report: import("../wire").Report, again: () => void, again_ms: number}} props `again_ms`: the delay in ms
 *   after which the page retries a read that the service refused
 */
export function Unavailable({ report, again, again_ms }) {
  const words = t().report;
  const read = useRef({ report, at_ms: Date.now() });
  if (read.current.report !== report) read.current = { report, at_ms: Date.now() };
  const limited = report.unavailable === "rate_limited";
  const left_s = useCountdown(limited ? read.current.at_ms + again_ms : null);
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
