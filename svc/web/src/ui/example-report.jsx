/** A report with invented numbers, in the components of real reports. */

import { useSignal } from "@preact/signals";

import { useKeys } from "../keys.js";
import { addDays, sum } from "../series.js";
import { t } from "../words.js";
import { Chart } from "./chart.jsx";
import { Totals } from "./totals.jsx";

/** Views, visitors and bots of each day, and the views of the same day in the previous period. */
const DAYS = [
  [182, 121, 38, 164],
  [214, 139, 41, 171],
  [236, 158, 35, 190],
  [221, 149, 52, 203],
  [268, 176, 44, 197],
  [143, 102, 29, 121],
  [131, 94, 33, 118],
];

/** @returns {import("../series.js").Slot[]} for the seven days before today */
function slots() {
  const today = new Date().toISOString().slice(0, 10);
  return DAYS.map(([views = 0, visitors = 0, bots = 0, earlier = 0], i) => ({
    at: `${addDays(today, i - DAYS.length)}T00:00:00.000Z`,
    now: { views, visitors, bots },
    before: { views: earlier, visitors: Math.round(0.66 * earlier), bots: Math.round(0.2 * earlier) },
  }));
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
  const all = slots();
  /** @param {"now" | "before"} period */
  const total = (period) => sum(all.flatMap((slot) => (slot[period] ? [{ at: slot.at, ...slot[period] }] : [])));
  const shown = all.map((slot) => (compared.value ? slot : { ...slot, before: null }));
  return (
    <section class="report example" aria-labelledby="example">
      <h2 id="example">
        <span class="tag">{words.example}</span> shop.example
      </h2>
      <Totals kind="site" report={{ period: "7d", totals: total("now") }} before={total("before")} compared />
      <Chart
        kind="site"
        hourly={false}
        slots={shown}
        compared={compared.value}
        bots={bots.value}
        toggle={toggle}
        more={null}
      />
    </section>
  );
}
