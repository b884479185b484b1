/** A report with invented numbers, in the components of real reports. */

import { useSignal } from "@preact/signals";

import { useKeys } from "../keys.js";
import { addDays, slotsOf, sum } from "../series.js";
import { t } from "../words.js";
import { Chart } from "./chart.jsx";
import { Totals } from "./totals.jsx";

/** Views, visitors and bots of each day, and the views of the corresponding day in the previous period. */
const DAYS = [
  [182, 121, 38, 164],
  [214, 139, 41, 171],
  [236, 158, 35, 190],
  [221, 149, 52, 203],
  [268, 176, 44, 197],
  [143, 102, 29, 121],
  [131, 94, 33, 118],
];

/** @returns {import("../wire").Report} the seven days before today */
function report() {
  const today = new Date().toISOString().slice(0, 10);
  /** @param {number} ends @param {(day: number[]) => import("../series.js").Counts} counts */
  const week = (ends, counts) => {
    const from = addDays(today, ends - DAYS.length);
    const series = DAYS.map((day, i) => ({ at: `${addDays(from, i)}T00:00:00Z`, ...counts(day) }));
    return { from, to: addDays(today, ends - 1), series, totals: sum(series) };
  };
  const comparison = week(-DAYS.length, ([, , , views = 0]) => ({
    views,
    visitors: Math.round(0.66 * views),
    bots: Math.round(0.2 * views),
  }));
  const none = { as_of: null, incomplete: false, breakdowns: null, breakdowns_from: null, unavailable: null };
  const now = week(0, ([views = 0, visitors = 0, bots = 0]) => ({ views, visitors, bots }));
  return { ...none, period: "custom", by: "day", ...now, comparison };
}

export function ExampleReport() {
  const words = t().auth.about;
  const compared = useSignal(true);
  const bots = useSignal(false);
  const toggle = {
    compared: () => void (compared.value = !compared.value),
    bots: () => void (bots.value = !bots.value),
  };
  useKeys([{ keys: "x", says: t().report.compare, does: toggle.compared }]);
  const all = report();
  const shown = compared.value ? all : { ...all, comparison: null };
  return (
    <section class="report example" aria-labelledby="example">
      <h2 id="example">
        <span class="tag">{words.example}</span> shop.example
      </h2>
      <Totals kind="site" report={all} compared />
      <Chart
        kind="site"
        by="day"
        slots={slotsOf(shown)}
        compared={compared.value}
        comparison={t().report.comparisons.previous ?? ""}
        bots={bots.value}
        toggle={toggle}
        more={null}
      />
    </section>
  );
}
