/** Shows the change in a number compared with the previous period. */

import { number, percent } from "../format.js";
import { t } from "../words.js";

const ARROWS = { up: "▲ ", down: "▼ ", same: "" };

/**
 * Shows, for example, "▲ 23%". Screen readers say "up 23%, from 155".
 * @param {{now: number, before: number | null | undefined, brief?: boolean}} props `before`: null if nothing was
 *   counted before; `brief`: show a dash in this case
 */
export function Change({ now, before, brief = false }) {
  const words = t().report.change;
  if (!before) {
    return (
      <span class="small">
        {brief && <span aria-hidden="true">–</span>}
        <span class={brief ? "unseen" : undefined}>{words.none}</span>
      </span>
    );
  }
  const part = Math.abs(now - before) / before;
  const direction = now > before ? "up" : now < before ? "down" : "same";
  return (
    <span class={`change ${direction}`}>
      <span aria-hidden="true">
        {ARROWS[direction]}
        {percent(part)}
      </span>
      <span class="unseen">{words[direction](percent(part), number(before))}</span>
    </span>
  );
}
