/** The choice of a period, as links, so that each period has a URL. */

import { useKeys } from "../keys.js";
import { withRange } from "../range.js";
import { address, go } from "../router.js";
import { t } from "../words.js";
import { KeyHint } from "./parts.jsx";

/** @typedef {"today" | "7d" | "30d"} Period */

/** The shortcuts of the periods, as in Plausible. @type {Record<string, Period>} */
const KEYS = { d: "today", w: "7d", t: "30d" };

/** @returns {Period} the period in the URL, or `7d` */
export const currentPeriod = () =>
  Object.values(KEYS).find((one) => one === address.value.searchParams.get("period")) ?? "7d";

/** @param {{current: string | undefined}} props */
export function Periods({ current }) {
  const words = t().report;
  const search = address.value.searchParams;
  useKeys(
    Object.entries(KEYS).map(([keys, period]) => ({
      keys,
      says: words.periods[period],
      does: () => go(withRange(search, { period })),
    })),
  );
  return (
    <nav class="tabs periods" aria-label={words.period}>
      {Object.entries(KEYS).map(([key, period]) => (
        <a
          key={period}
          class="tab"
          href={withRange(search, { period })}
          aria-current={period === current ? "true" : undefined}
        >
          {words.periods[period]} <KeyHint keys={key} />
        </a>
      ))}
    </nav>
  );
}
