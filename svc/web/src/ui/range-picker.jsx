/** The choice of a report's period, step and comparison, which are all in the URL. */

import { useSignal } from "@preact/signals";
import { useId, useRef } from "preact/hooks";

import { days, month } from "../format.js";
import { useKeys } from "../keys.js";
import { changed, comparisonOf, withRange } from "../range.js";
import { stepped, stepsFor, wholeMonths } from "../range-steps.js";
import { address, go } from "../router.js";
import { t } from "../words.js";
import { Choice } from "./choice.jsx";
import { KeyHint } from "./parts.jsx";

/**
 * @typedef {Pick<import("../wire").Report, "period" | "from" | "to" | "by">} Report
 * @typedef {import("../range.js").Range} Range
 */

/** The periods of the panel, with their shortcuts as in Plausible. @type {[NonNullable<Range["period"]>, string?][]} */
const PERIODS = [["yesterday"], ["month", "m"], ["last_month"], ["12mo"], ["year", "y"], ["all", "a"]];
const DAY = /^\d{4}-\d\d-\d\d$/;
const GAP_PX = 4;
const YEAR = 12;

/** Open the report for another period. @param {Pick<Range, "period" | "from" | "to">} range */
const open = (range) => go(withRange(address.value.searchParams, range));

/** @returns {string} the current UTC day */
const utcToday = () => new Date().toISOString().slice(0, 10);

/** @param {{report: Report | undefined}} props undefined until it is loaded, and if the period is not valid */
export function RangePicker({ report }) {
  const words = t().range;
  const today = utcToday();
  const search = address.value.searchParams;
  const current = currentDays(search, report, today);
  const previous = current && stepped(current, -1, today);
  const next = current && stepped(current, 1, today);
  useKeys([
    ...PERIODS.flatMap(([period, keys]) =>
      keys ? [{ keys, says: nameOf(period) ?? period, does: () => open({ period }) }] : [],
    ),
    { keys: "p", says: words.earlier, does: () => previous && open(previous) },
    { keys: "n", says: words.later, does: () => next && open(next) },
  ]);
  const steps = report ? stepsFor(report, today) : [];
  const compare = search.get("compare") || "previous";
  return (
    <div class="range" role="group" aria-label={words.label}>
      <span class="range-period">
        <Step to={previous} label={words.earlier} sign="‹" />
        <Other report={report} today={today} />
        <Step to={next} label={words.later} sign="›" />
      </span>
      {report?.by && steps.length > 1 && (
        <Choice
          label={words.by}
          value={report.by}
          options={pick(words.steps, steps)}
          choose={(by) => go(changed(search, { by }))}
        />
      )}
      {search.get("period") !== "all" && compare in words.comparisons && (
        <Choice
          label={words.compare}
          value={comparisonOf(search) ?? "off"}
          options={words.comparisons}
          choose={(chosen) => go(changed(search, { compare: chosen === "previous" ? undefined : chosen }))}
        />
      )}
    </div>
  );
}

/**
 * The days of the period in the URL. While a report is loading, the previous report is still shown. The days of the
 * shown report would therefore be wrong if the user steps several times quickly.
 * @param {URLSearchParams} search @param {Report | undefined} report @param {string} today
 * @returns {import("../range-steps.js").Shown | null} the period in the URL; null if its days are not known yet
 */
function currentDays(search, report, today) {
  const [period, from, to] = ["period", "from", "to"].map((name) => search.get(name));
  if (from && to && DAY.test(from) && DAY.test(to)) return { period: "custom", from, to: to > today ? today : to };
  return report && report.period === (period || (from || to ? "custom" : "7d")) ? report : null;
}

/** @param {string | undefined} period @returns {string | undefined} the name of a period of the panel */
const nameOf = (period) =>
  period === undefined ? undefined : Object.entries(t().range.periods).find(([key]) => key === period)?.[1];

/**
 * @template {string} K
 * @param {Record<K, string>} texts @param {K[]} keys
 * @returns {Record<K, string>} the texts of these keys
 */
const pick = (texts, keys) =>
  /** @type {Record<K, string>} */ (Object.fromEntries(keys.map((key) => [key, texts[key]])));

/** @param {{to: Pick<Range, "period" | "from" | "to"> | null | undefined, label: string, sign: string}} props */
const Step = ({ to, label, sign }) => (
  <button
    type="button"
    class="quiet"
    aria-label={label}
    title={label}
    aria-disabled={!to}
    onClick={() => to && open(to)}
  >
    <span aria-hidden="true">{sign}</span>
  </button>
);

/**
 * A button with the name of the period. Its panel contains the other periods, and two fields for a custom range.
 * @param {{report: Report | undefined, today: string}} props
 */
function Other({ report, today }) {
  const words = t().range;
  const id = useId();
  const isOpen = useSignal(false);
  const button = useRef(/** @type {HTMLButtonElement | null} */ (null));
  const panel = useRef(/** @type {HTMLDivElement | null} */ (null));
  const search = address.value.searchParams;
  const close = () => panel.current?.hidePopover();
  /** Place the panel below the button, inside the window. */
  const place = () => {
    const { style } = panel.current ?? {};
    if (!style || !button.current) return;
    const { bottom, left } = button.current.getBoundingClientRect();
    style.setProperty("--panel-left", `${left}px`);
    style.setProperty("--panel-top", `${bottom + GAP_PX + scrollY}px`);
  };
  const isNamed = ["today", "7d", "30d"].includes(report?.period ?? "");
  return (
    <>
      <button ref={button} type="button" class="quiet" aria-expanded={isOpen.value} popovertarget={id}>
        {!report || isNamed ? words.other : (nameOf(report.period) ?? titleOf(report, today))}{" "}
        <span aria-hidden="true">▾</span>
      </button>
      <div
        id={id}
        ref={panel}
        class="range-panel"
        role="dialog"
        aria-label={words.other}
        popover="auto"
        onBeforeToggle={place}
        onToggle={({ newState }) => (isOpen.value = newState === "open")}
      >
        {isOpen.value && (
          <>
            <ul>
              {PERIODS.map(([period, key]) => (
                <li key={period}>
                  <a
                    href={withRange(search, { period })}
                    aria-current={report?.period === period ? "true" : undefined}
                    onClick={close}
                  >
                    {nameOf(period)} {key && <KeyHint keys={key} />}
                  </a>
                </li>
              ))}
            </ul>
            <form
              onSubmit={(event) => {
                event.preventDefault();
                const fields = new FormData(event.currentTarget);
                close();
                open({ from: String(fields.get("from")), to: String(fields.get("to")) });
              }}
            >
              <DayField name="from" label={words.from} value={report?.from} today={today} />
              <DayField name="to" label={words.to} value={report?.to} today={today} />
              <button type="submit">{words.show}</button>
            </form>
          </>
        )}
      </div>
    </>
  );
}

/** @param {{name: "from" | "to", label: string, value: string | undefined, today: string}} props */
function DayField({ name, label, value, today }) {
  const id = useId();
  return (
    <p class="field">
      <label for={id}>{label}</label>
      <input id={id} type="date" name={name} defaultValue={value} min="0001-01-01" max={today} required />
    </p>
  );
}

/** @param {Report} report @param {string} today @returns {string} Nov 2026; 2026; Nov 18 – 24 */
function titleOf(report, today) {
  const months = wholeMonths(report, today);
  if (months === 1) return month(report.from);
  if (months === YEAR && report.from.slice(0, 4) === report.to.slice(0, 4)) return report.from.slice(0, 4);
  return days(report.from, report.to);
}
