/**
 * The chart of a report: bars for views, a line with dots for visitors, a dashed line for the compared period.
 * Horizontal positions are fractions, so the chart fits any width without a measurement.
 */

import { useSignal } from "@preact/signals";
import { useId, useRef } from "preact/hooks";

import { day, hour, month, number, short, weekday } from "../format.js";
import { partName } from "../part-name.js";
import { reportPart } from "../report-part.jsx";
import { isWeekend, runningSlot, scale, weekNumber } from "../series.js";
import { t } from "../words.js";
import { KeyHint } from "./parts.jsx";

/**
 * @typedef {import("../series.js").Slot} Slot
 * @typedef {import("../series.js").Step} Step
 */

const Tip = reportPart("Tip");
const Table = reportPart("Table");

const HEIGHT = 220;
const TOP = 12;
const DAY = 24;
const WEEK = 7;
const MONTH = 31;
/** If there are more slots than in a year, the labels contain the year. @type {Record<Step, number>} */
const YEAR = { hour: Infinity, day: 366, week: 53, month: 12 };
/** With more points, the dots would hide the line. */
const MOST_DOTS = 62;
/** With more days, the weekends would be too narrow to see. */
const MOST_WEEKENDS = 92;
/** The width of a bar as a fraction of its slot. */
const WIDE = (/** @type {number} */ count) => (count > MONTH ? 0.8 : count > WEEK ? 0.62 : 0.4);
/** The interval between labels below the bars. If the slots are hours of several days, there is one label per day. */
const NAMED = (/** @type {number} */ count, /** @type {Step} */ by) =>
  by === "hour" && count > DAY ? DAY : count > MONTH ? Math.ceil(count / WEEK) : count > DAY ? 5 : count > WEEK ? 3 : 1;

/**
 * @typedef {object} Drawn
 * @property {"site" | "link"} kind
 * @property {Step} by what each slot covers
 * @property {Slot[]} slots
 * @property {boolean} compared
 * @property {string} comparison the name of the compared period
 * @property {boolean} bots true to stack bots on top of the views
 */

/**
 * @param {Drawn & {
 *   toggle: {compared: () => void, bots: () => void},
 *   choose?: (day: string) => void,
 *   below?: import("preact").ComponentChildren,
 *   more: import("preact").ComponentChildren,
 * }} props
 *   `choose`: called with the first day of a point that the user clicks, or selects with Enter; `below`: shown below
 *   the points; `more`: shown next to the table
 */
export function Chart({ toggle, choose, below, more, ...drawn }) {
  const { kind, slots, compared, comparison, bots } = drawn;
  const words = t().report;
  // Store the time of the selected point. Its index would select another day after a change of the period.
  const selected = useSignal(/** @type {string | null} */ (null));
  const opened = useSignal(false);
  const last = slots.length - 1;
  const found = slots.findIndex(({ at }) => at === selected.value);
  const at = found < 0 ? null : found;
  const chosen = slots[found] ?? null;
  const running = runningSlot(slots, Date.now());
  const place = at ?? Math.max(0, running);
  /** @param {number | null} index */
  const select = (index) => (selected.value = index === null ? null : (slots[index]?.at ?? null));
  // True after a tap, which only shows the numbers and does not open a day.
  const touched = useRef(false);
  const pick = () => choose?.((slots[place]?.at ?? "").slice(0, 10));
  /** @param {KeyboardEvent} event */
  const key = (event) => {
    if (event.key === "Enter") pick();
    /** @type {Record<string, number | null>} */
    const to = {
      ArrowLeft: Math.max(0, place - (at === null ? 0 : 1)),
      ArrowRight: Math.min(last, place + (at === null ? 0 : 1)),
      Home: 0,
      End: last,
      Escape: null,
    };
    if (!(event.key in to) || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    select(to[event.key] ?? null);
  };
  /** @param {PointerEvent & {currentTarget: Element}} event */
  const point = ({ clientX, currentTarget, pointerType }) => {
    touched.current = pointerType === "touch";
    const { left, width } = currentTarget.getBoundingClientRect();
    select(Math.min(last, Math.max(0, Math.floor(((clientX - left) / width) * slots.length))));
  };
  return (
    <section class="course" aria-labelledby="course">
      <h2 id="course" class="unseen">
        {words.chart}
      </h2>
      <div class="legend">
        <Swatch series="views">{kind === "site" ? words.views : words.clicks}</Swatch>
        <Swatch series="visitors">{words.visitors}</Swatch>
        {comparison && (
          <button type="button" class="quiet" aria-pressed={compared} onClick={toggle.compared}>
            <Swatch series="before">{comparison}</Swatch> <KeyHint keys="x" />
          </button>
        )}
        <button type="button" class="quiet" aria-pressed={bots} onClick={toggle.bots}>
          <Swatch series="bots">{words.withBots}</Swatch>
        </button>
      </div>
      {/* The chart is a slider, because only with this role do screen readers pass on the arrow keys and read the
          value. */}
      <div
        class="chart"
        role="slider"
        aria-roledescription={words.chartRole}
        aria-label={sentence(drawn)}
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={place}
        aria-valuetext={reading(slots[place], drawn, place === running)}
        tabIndex={0}
        onKeyDown={key}
        onBlur={() => select(null)}
      >
        <Drawing
          {...drawn}
          at={at}
          running={running}
          point={point}
          pick={() => touched.current || pick()}
          leave={() => select(null)}
        />
        {chosen && <Tip {...drawn} slot={chosen} at={(place + 0.5) / slots.length} isRunning={place === running} />}
      </div>
      {below}
      <div class="numbers">
        <details onToggle={({ currentTarget }) => (opened.value = currentTarget.open)}>
          <summary>{words.asTable}</summary>
          {opened.value && <Table {...drawn} />}
        </details>
        {more}
      </div>
    </section>
  );
}

/** @param {{series: string, children: import("preact").ComponentChildren}} props */
const Swatch = ({ series, children }) => (
  <span class="swatch">
    <svg width="16" height="12" aria-hidden="true" class={series}>
      {series === "visitors" || series === "before" ? (
        <>
          <line x1="0" x2="16" y1="6" y2="6" />
          {series === "visitors" && <circle cx="8" cy="6" r="3.5" />}
        </>
      ) : (
        <rect x="2.5" y="0.5" width="11" height="11" />
      )}
    </svg>
    {children}
  </span>
);

/**
 * @param {Drawn & {
 *   at: number | null,
 *   running: number,
 *   point: (event: any) => void,
 *   pick: () => void,
 *   leave: () => void,
 * }} props
 *   `running`: the index of the slot that has not ended yet, or -1
 */
function Drawing({ by, slots, bots, at, running, point, pick, leave }) {
  const hatch = useId();
  const part = useId();
  const drawn = slots.flatMap(({ now, before }) => [
    (now?.views ?? 0) + (bots ? (now?.bots ?? 0) : 0),
    now?.visitors ?? 0,
    before?.views ?? 0,
  ]);
  const ticks = scale(Math.max(...drawn));
  const top = ticks.at(-1) ?? 1;
  const count = slots.length;
  /** @param {number} value */
  const y = (value) => HEIGHT - ((HEIGHT - TOP) * value) / top;
  /** @param {number} place the index of a slot, plus .5 for its middle */
  const x = (place) => `${((100 * place) / count).toFixed(3)}%`;
  const wide = WIDE(count);
  const visitors = path(slots, ({ now }) => now && y(now.visitors));
  const before = path(slots, (slot) => slot.before && y(slot.before.views));
  return (
    <>
      <svg class="ticks" height={HEIGHT} aria-hidden="true">
        {ticks.map((tick) => (
          <text key={tick} x="100%" y={y(tick)} dy="0.32em">
            {short(tick)}
          </text>
        ))}
      </svg>
      <svg
        class="plot"
        height={HEIGHT}
        aria-hidden="true"
        onPointerMove={point}
        onPointerDown={point}
        onPointerLeave={leave}
        onClick={pick}
      >
        <pattern id={hatch} width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect class="hatch" width="2" height="5" />
        </pattern>
        <pattern id={part} width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)">
          <rect class="part" width="2.5" height="5" />
        </pattern>
        {by === "day" &&
          count > WEEK &&
          count <= MOST_WEEKENDS &&
          slots.map(({ at: when }, i) =>
            isWeekend(when) ? (
              <rect key={when} class="weekend" x={x(i)} width={x(1)} y={TOP} height={HEIGHT - TOP} />
            ) : null,
          )}
        {at !== null && <rect class="chosen" x={x(at)} width={x(1)} y="0" height={HEIGHT} />}
        {ticks.map((tick) => (
          <line key={tick} class={tick === 0 ? "ground" : "grid"} x1="0" x2="100%" y1={y(tick)} y2={y(tick)} />
        ))}
        {slots.map(({ at: when, now }, i) => (
          <g key={when}>
            {now !== null && (
              <rect
                class={i === running ? "views running" : now.estimated ? "views estimated" : "views"}
                fill={i === running ? `url(#${part})` : undefined}
                x={x(i + 0.5 - wide / 2)}
                width={x(wide)}
                y={y(now.views)}
                height={HEIGHT - y(now.views)}
              />
            )}
            {bots && now !== null && now.bots > 0 && (
              <rect
                class="bots"
                fill={`url(#${hatch})`}
                x={x(i + 0.5 - wide / 2)}
                width={x(wide)}
                y={y(now.views + now.bots)}
                height={y(now.views) - y(now.views + now.bots)}
              />
            )}
          </g>
        ))}
        {/* The lines have one coordinate per slot and are stretched to the full width. */}
        <svg viewBox={`0 0 ${count} ${HEIGHT}`} height={HEIGHT} preserveAspectRatio="none">
          {before && (
            <>
              <path class="halo" d={before} />
              <path class="before" d={before} />
            </>
          )}
          <path class="visitors" d={visitors} />
        </svg>
        {count <= MOST_DOTS && (
          <g class="visitors">
            {slots.map(({ at: when, now }, i) =>
              now ? <circle key={when} cx={x(i + 0.5)} cy={y(now.visitors)} r={count > WEEK ? 3 : 4} /> : null,
            )}
          </g>
        )}
      </svg>
      <svg class="names" height="20" aria-hidden="true">
        {slots.map(({ at: when }, i) => {
          // Hours are labeled from midnight. Other slots are labeled from the last one, which may still be running.
          const hourly = by === "hour";
          const step = (hourly ? i : count - 1 - i) / NAMED(count, by);
          // The label of a narrow last slot would extend beyond the chart.
          const isLast = !hourly && count > WEEK && i === count - 1;
          return step % 1 === 0 ? (
            <text
              key={when}
              class={isLast ? "last" : step % 2 ? "rare" : undefined}
              x={isLast ? "100%" : x(i + 0.5)}
              y="15"
            >
              {i === running && by === "day" ? t().report.periods.today : label(when, by, count)}
            </text>
          ) : null;
        })}
      </svg>
    </>
  );
}

/**
 * @param {Slot[]} slots
 * @param {(slot: Slot) => number | null} y null for an unknown value, which interrupts the line
 * @returns {string} the path of a line through the middles of the slots
 */
function path(slots, y) {
  let isDrawn = false;
  const points = slots.map((slot, i) => {
    const at = y(slot);
    const command = isDrawn ? "L" : "M";
    isDrawn = at !== null;
    // A single value has no line, so draw a short line at its height.
    return at === null ? "" : slots.length === 1 ? `M.1,${at}H.9` : `${command}${i + 0.5},${at}`;
  });
  return points.join("");
}

/** @param {string} at @param {Step} by @param {number} count @returns {string} the label of a slot below the chart */
function label(at, by, count) {
  if (by === "hour" && count <= DAY) return hour(at);
  if (by === "month" || count > YEAR[by]) return month(at);
  if (by === "week") return t().report.week(weekNumber(at));
  return count > WEEK ? day(at) : weekday(at);
}

/** @param {Drawn} drawn @returns {string} a text alternative for the chart */
function sentence({ kind, by, slots }) {
  const words = t().report;
  const highest = slots.reduce((most, slot) => ((slot.now?.views ?? 0) > (most.now?.views ?? 0) ? slot : most));
  const views = highest.now?.views ?? 0;
  return `${words.per(kind, by)}. ${views ? words.most(number(views), partName(highest, by)) : words.none}`;
}

/**
 * @param {Slot | undefined} slot @param {Drawn} drawn @param {boolean} isRunning
 * @returns {string} the numbers of a slot, for screen readers
 */
function reading(slot, { kind, by, bots, comparison }, isRunning) {
  const words = t().report;
  if (!slot) return "";
  const { now, before, earlier } = slot;
  const when = `${partName(slot, by)}${isRunning ? ` (${words.soFar})` : ""}`;
  if (!now) return `${when}: ${words.notKnown}`;
  return [
    `${when}: ${kind === "site" ? words.views : words.clicks} ${number(now.views)}`,
    `${words.visitors} ${number(now.visitors)}`,
    ...(bots ? [`${words.bots} ${number(now.bots)}`] : []),
    ...(before && earlier ? [`${comparison} (${partName(earlier, by)}) ${number(before.views)}`] : []),
    ...(now.estimated ? [words.estimated] : []),
  ].join(" · ");
}
