/**
 * The chart of a report: bars for views, a line with dots for visitors, outlines for the previous period. Horizontal
 * positions are percentages, so the chart fits any width without a measurement.
 */

import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";

import { day, hour, localHour, longDay, number, short, weekday } from "../format.js";
import { isWeekend, runningSlot, scale } from "../series.js";
import { t } from "../words.js";
import { Change } from "./change.jsx";

/** @typedef {import("../series.js").Slot} Slot */

const HEIGHT = 220;
const TOP = 12;
/** The width of a bar as a fraction of its slot, and the offset of the outline behind it. */
const WIDE = (/** @type {number} */ count) => (count > 7 ? 0.62 : 0.4);
const OUTLINE = 0.16;
/** The interval between labels below the bars. */
const NAMED = (/** @type {number} */ count) => (count > 24 ? 5 : count > 7 ? 3 : 1);
const WEEK = 7;

/**
 * @typedef {object} Drawn
 * @property {"site" | "link"} kind
 * @property {boolean} hourly true if each slot is an hour of today, false if it is a day
 * @property {Slot[]} slots
 * @property {boolean} compared
 * @property {boolean} bots true to stack bots on top of the views
 */

/**
 * @param {Drawn & {toggle: {compared: () => void, bots: () => void}, more: import("preact").ComponentChildren}} props
 *   `more`: shown next to the table
 */
export function Chart({ toggle, more, ...drawn }) {
  const { kind, slots, compared, bots } = drawn;
  const words = t().report;
  const at = useSignal(/** @type {number | null} */ (null));
  const chosen = at.value === null ? null : (slots[at.value] ?? null);
  const running = runningSlot(slots, drawn.hourly, Date.now());
  const place = at.value ?? Math.max(0, running);
  /** @param {KeyboardEvent} event */
  const key = (event) => {
    const last = slots.length - 1;
    /** @type {Record<string, number | null>} */
    const to = {
      ArrowLeft: Math.max(0, place - (at.value === null ? 0 : 1)),
      ArrowRight: Math.min(last, place + (at.value === null ? 0 : 1)),
      Home: 0,
      End: last,
      Escape: null,
    };
    if (!(event.key in to) || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    at.value = to[event.key] ?? null;
  };
  /** @param {PointerEvent & {currentTarget: Element}} event */
  const point = ({ clientX, currentTarget }) => {
    const { left, width } = currentTarget.getBoundingClientRect();
    at.value = Math.min(slots.length - 1, Math.max(0, Math.floor(((clientX - left) / width) * slots.length)));
  };
  return (
    <section class="course" aria-labelledby="course">
      <h2 id="course" class="unseen">
        {words.chart}
      </h2>
      <div class="legend">
        <Swatch series="views">{kind === "site" ? words.views : words.clicks}</Swatch>
        <Swatch series="visitors">{words.visitors}</Swatch>
        <button type="button" class="quiet" aria-pressed={compared} onClick={toggle.compared}>
          <Swatch series="before">{words.compare}</Swatch> <kbd aria-hidden="true">x</kbd>
        </button>
        <button type="button" class="quiet" aria-pressed={bots} onClick={toggle.bots}>
          <Swatch series="bots">{words.withBots}</Swatch>
        </button>
      </div>
      {/* A slider is the only role with which screen readers pass the arrow keys on and read the value. */}
      <div
        class="chart"
        role="slider"
        aria-roledescription={words.chartRole}
        aria-label={sentence(drawn)}
        aria-valuemin={0}
        aria-valuemax={slots.length - 1}
        aria-valuenow={place}
        aria-valuetext={reading(slots[place], drawn, place === running)}
        tabIndex={0}
        onKeyDown={key}
        onBlur={() => (at.value = null)}
      >
        <Drawing {...drawn} at={at.value} running={running} point={point} leave={() => (at.value = null)} />
        {chosen && <Tip {...drawn} slot={chosen} at={(place + 0.5) / slots.length} isRunning={place === running} />}
      </div>
      <div class="numbers">
        <details>
          <summary>{words.asTable}</summary>
          <Table {...drawn} />
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
      {series === "visitors" ? (
        <>
          <line x1="0" x2="16" y1="6" y2="6" />
          <circle cx="8" cy="6" r="3.5" />
        </>
      ) : (
        <rect x="2.5" y="0.5" width="11" height="11" />
      )}
    </svg>
    {children}
  </span>
);

/**
 * @param {Drawn & {at: number | null, running: number, point: (event: any) => void, leave: () => void}} props
 *   `running`: the index of the slot that has not ended yet, or -1
 */
function Drawing({ hourly, slots, bots, at, running, point, leave }) {
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
      >
        <pattern id={hatch} width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect class="hatch" width="2" height="5" />
        </pattern>
        <pattern id={part} width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)">
          <rect class="part" width="2.5" height="5" />
        </pattern>
        {!hourly &&
          count > WEEK &&
          slots.map(({ at: when }, i) =>
            isWeekend(when) ? (
              <rect key={when} class="weekend" x={x(i)} width={x(1)} y={TOP} height={HEIGHT - TOP} />
            ) : null,
          )}
        {at !== null && <rect class="chosen" x={x(at)} width={x(1)} y="0" height={HEIGHT} />}
        {ticks.map((tick) => (
          <line key={tick} class={tick === 0 ? "ground" : "grid"} x1="0" x2="100%" y1={y(tick)} y2={y(tick)} />
        ))}
        {slots.map(({ at: when, now, before }, i) => (
          <g key={when}>
            {before !== null && before.views > 0 && (
              <rect
                class="before"
                x={x(i + 0.5 - wide / 2 - OUTLINE)}
                width={x(wide)}
                y={y(before.views)}
                height={HEIGHT - y(before.views)}
              />
            )}
            {now !== null && (
              <rect
                class={i === running ? "views running" : "views"}
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
        <g class="visitors">
          {slots.map(({ at: when, now }, i) => {
            const next = slots[i + 1]?.now;
            if (!now || !next) return null;
            const [from, to] = [y(now.visitors), y(next.visitors)];
            return <line key={when} x1={x(i + 0.5)} x2={x(i + 1.5)} y1={from} y2={to} />;
          })}
          {slots.map(({ at: when, now }, i) =>
            now ? <circle key={when} cx={x(i + 0.5)} cy={y(now.visitors)} r={count > 7 ? 3 : 4} /> : null,
          )}
        </g>
      </svg>
      <svg class="names" height="20" aria-hidden="true">
        {slots.map(({ at: when }, i) => {
          // Days are labelled from the last one, which is today. Hours are labelled from midnight.
          const step = (hourly ? i : count - 1 - i) / NAMED(count);
          // The label of a narrow last slot would extend beyond the chart.
          const isLast = !hourly && count > WEEK && i === count - 1;
          return step % 1 === 0 ? (
            <text
              key={when}
              class={isLast ? "last" : step % 2 ? "rare" : undefined}
              x={isLast ? "100%" : x(i + 0.5)}
              y="15"
            >
              {hourly
                ? hour(when)
                : i === running
                  ? t().report.periods.today
                  : count > WEEK
                    ? day(when)
                    : weekday(when)}
            </text>
          ) : null;
        })}
      </svg>
    </>
  );
}

/** @param {string} at @param {boolean} hourly @returns {string} */
const named = (at, hourly) => (hourly ? `${hour(at)} UTC (${localHour(at)})` : longDay(at));

/** @param {Drawn} drawn @returns {string} a text alternative for the chart */
function sentence({ kind, hourly, slots }) {
  const words = t().report;
  const what = (hourly ? words.perHour : words.perDay)[kind];
  const highest = slots.reduce((most, slot) => ((slot.now?.views ?? 0) > (most.now?.views ?? 0) ? slot : most));
  const views = highest.now?.views ?? 0;
  return `${what}. ${views ? words.most(number(views), named(highest.at, hourly)) : words.none}`;
}

/**
 * @param {Slot | undefined} slot @param {Drawn} drawn @param {boolean} isRunning
 * @returns {string} the numbers of a slot, for screen readers
 */
function reading(slot, { kind, hourly, bots }, isRunning) {
  const words = t().report;
  if (!slot) return "";
  const { at, now, before } = slot;
  const when = `${named(at, hourly)}${isRunning ? ` (${words.soFar})` : ""}`;
  if (!now) return `${when}: ${words.notKnown}`;
  return [
    `${when}: ${kind === "site" ? words.views : words.clicks} ${number(now.views)}`,
    `${words.visitors} ${number(now.visitors)}`,
    ...(bots ? [`${words.bots} ${number(now.bots)}`] : []),
    ...(before ? [`${words.compare} ${number(before.views)}`] : []),
  ].join(" · ");
}

/**
 * The numbers of a slot, shown above it. Screen readers get them from the slider's value.
 * @param {Drawn & {slot: Slot, at: number, isRunning: boolean}} props `at`: the slot's middle, from 0 to 1
 */
function Tip({ kind, hourly, bots, slot: { at: when, now, before }, at, isRunning }) {
  const words = t().report;
  /** @param {string} name @param {number} count @param {number | undefined} earlier */
  const row = (name, count, earlier) => (
    <tr>
      <th scope="row">{name}</th>
      <td>{number(count)}</td>
      <td>{earlier && !isRunning ? <Change now={count} before={earlier} /> : null}</td>
    </tr>
  );
  return (
    <div class="tip" aria-hidden="true" ref={(element) => element?.style.setProperty("--at", String(at))}>
      <b>{named(when, hourly)}</b> {isRunning && words.soFar}
      {now ? (
        <table>
          <tbody>
            {row(kind === "site" ? words.views : words.clicks, now.views, before?.views)}
            {row(words.visitors, now.visitors, before?.visitors)}
            {bots && row(words.bots, now.bots, before?.bots)}
          </tbody>
        </table>
      ) : (
        <p>{words.notKnown}</p>
      )}
    </div>
  );
}

/** @param {Drawn} props */
function Table({ kind, hourly, slots, compared }) {
  const words = t().report;
  return (
    <table class="figures">
      <thead>
        <tr>
          <th scope="col">{hourly ? words.hour : words.day}</th>
          <th scope="col">{kind === "site" ? words.views : words.clicks}</th>
          <th scope="col">{words.visitors}</th>
          <th scope="col">{words.bots}</th>
          {compared && <th scope="col">{words.compare}</th>}
        </tr>
      </thead>
      <tbody>
        {slots.map(({ at, now, before }) => (
          <tr key={at}>
            <th scope="row">{hourly ? hour(at) : day(at)}</th>
            <td>{now ? number(now.views) : "–"}</td>
            <td>{now ? number(now.visitors) : "–"}</td>
            <td>{now ? number(now.bots) : "–"}</td>
            {compared && <td>{before ? number(before.views) : "–"}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
