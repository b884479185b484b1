/** An account's usage of its Cloudflare plan. */

import { useId } from "preact/hooks";

import { ago, bytes, number } from "../format.js";
import { Gauge } from "../ui/gauge.jsx";
import { Help } from "../ui/help.jsx";
import { t } from "../words.js";
import { Level } from "./accounts.jsx";

/**
 * @typedef {import("../wire").FullAccount} Account
 * @typedef {keyof ReturnType<typeof t>["account"]["plan"]["metrics"]} Metric
 */

/** The metrics of each plan, in display order. @type {Record<Account["plan"], Metric[]>} */
const METRICS = { free: ["requests", "writes", "reads", "size"], paid: ["size"] };

/** Thresholds of the service's advice levels `watch` and `upgrade_soon`, in percent. */
const TICKS = [60, 80];

/**
 * @param {{
 *   account: Account,
 *   choose: (plan: Account["plan"]) => void,
 *   busy: boolean,
 *   changeRetention: () => void,
 * }} props `changeRetention`: opens the dialog for the retention of breakdowns
 */
export function Plan({ account: { advice, plan }, choose, busy, changeRetention }) {
  const words = t().account.plan;
  return (
    <section aria-labelledby="plan">
      <h2 id="plan">{words.title}</h2>
      {advice === null ? (
        <p class="hint">
          {words.none} <Help to="plan" />
        </p>
      ) : (
        <>
          <ul class="gauges">
            {METRICS[plan].map((metric) => (
              <li key={metric}>
                <Measured metric={metric} advice={advice.metrics[metric]} />
              </li>
            ))}
          </ul>
          {advice.suggest && (
            <p class="actions">
              {words[advice.suggest]}
              <button type="button" class="quiet" onClick={changeRetention}>
                {words.keepFewer[advice.suggest]}
              </button>
            </p>
          )}
          <p class="small">
            {words.intro} {words.asked(ago(advice.at))} <Help to="plan" />
          </p>
        </>
      )}
      <Choose plan={plan} choose={choose} busy={busy} />
    </section>
  );
}

/** @param {{metric: Metric, advice: import("../wire").MetricAdvice | undefined}} props */
function Measured({ metric, advice }) {
  const words = t().account.plan;
  const name = words.metrics[metric];
  if (!advice) {
    return (
      <>
        <span class="name">{name}</span>
        <span class="more hint">{words.unavailable}</span>
      </>
    );
  }
  const { busiest, limit, level, forecast } = advice;
  const shown = metric === "size" ? bytes : number;
  const value = words.of(shown(busiest.value), shown(limit));
  const when = metric === "size" ? "" : busiest.day ? words.busiest(busiest.day) : words.idle;
  return (
    <>
      <span class="name">{name}</span>
      <Gauge label={name} text={value} part={busiest.value / limit} ticks={TICKS} />
      <span class="number">{value}</span>
      <Level level={level} />
      <span class="more hint">{[when, forecast && words.forecast(forecast)].filter(Boolean).join(" · ")}</span>
    </>
  );
}

/** @param {{plan: Account["plan"], choose: (plan: Account["plan"]) => void, busy: boolean}} props */
function Choose({ plan, choose, busy }) {
  const words = t().account.plan;
  const id = useId();
  return (
    <p class="field column">
      <label for={id}>{words.choose}</label>
      <select
        id={id}
        value={plan}
        aria-busy={busy}
        aria-describedby={`${id}-hint`}
        onChange={(event) => choose(/** @type {Account["plan"]} */ (event.currentTarget.value))}
      >
        <option value="free">{words.free}</option>
        <option value="paid">{words.paid}</option>
      </select>
      <span class="hint" id={`${id}-hint`}>
        {words.chooseHint}
      </span>
    </p>
  );
}

/** The retention of breakdowns in the Worker's database. @param {{account: Account, change: () => void}} props */
export function Retention({ account: { days_kept, months_kept }, change }) {
  const words = t().account.retention;
  return (
    <section aria-labelledby="retention">
      <h2 id="retention">{words.label}</h2>
      <p class="actions">
        {words.kept(days_kept, months_kept)}
        <button type="button" class="quiet" onClick={change}>
          {words.change}
        </button>
      </p>
      <p class="small">{words.hint}</p>
    </section>
  );
}
