/**
 * The chart of a report: bars for views, a line with dots for visitors, outlines for the previous period. Horizontal
 * positions are percentages, so the chart fits any width without a measurement.
 */

import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";

import { day, hour, localHour, longDay, number, short } from "../format.js";
import { scale } from "../series.js";
import { t } from "../words.js";

/** @typedef {import("../series.js").Slot} Slot */

const HEIGHT = 220;
const TOP = 12;
/** The width of a bar as a fraction of its slot, and the offset of the outline behind it. */
const WIDE = (/** @type {number} */ count) => (count > 7 ? 0.62 : 0.4);
const OUTLINE = 0.16;
/** The interval between labels below the bars. */
const NAMED = (/** @type {number} */ count) => (count > 24 ? 5 : count > 7 ? 3 : 1);

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
 *   `more`: shown beside the table
 */
export function Chart({ toggle, more, ...drawn }) {
  const { kind, slots, compared, bots } = drawn;
  const words = t().report;
  const at = useSignal(/** @type {number | null} */ (null));
  const chosen = at.value === null ? null : (slots[at.value] ?? null);
  /** @param {KeyboardEvent} event */
  const key = (event) => {
    const last = slots.length - 1;
    /** @type {Record<string, number | null>} */
    const to = {
      ArrowLeft: Math.max(0, (at.value ?? slots.length) - 1),
      ArrowRight: Math.min(last, (at.value ?? -1) + 1),
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
      <div
        class="chart"
        role="img"
        aria-label={sentence(drawn)}
        tabIndex={0}
        onKeyDown={key}
        onBlur={() => (at.value = null)}
      >
        <Drawing {...drawn} at={at.value} point={point} leave={() => (at.value = null)} />
      </div>
      <p class="reading" role="status">
        {chosen ? reading(chosen, drawn) : <span class="small">{words.pointAt}</span>}
      </p>
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

/** @param {Drawn & {at: number | null, point: (event: any) => void, leave: () => void}} props */
function Drawing({ hourly, slots, bots, at, point, leave }) {
  const hatch = useId();
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
                class="views"
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
        {slots.map(({ at: when }, i) =>
          i % NAMED(count) === 0 ? (
            <text key={when} class={(i / NAMED(count)) % 2 ? "rare" : undefined} x={x(i + 0.5)} y="15">
              {hourly ? hour(when) : day(when)}
            </text>
          ) : null,
        )}
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

/** @param {Slot} slot @param {Drawn} drawn */
function reading({ at, now, before }, { kind, hourly, bots }) {
  const words = t().report;
  return (
    <>
      <b>{named(at, hourly)}</b>
      {now ? (
        <>
          {" · "}
          {kind === "site" ? words.views : words.clicks} {number(now.views)} · {words.visitors} {number(now.visitors)}
          {bots && ` · ${words.bots} ${number(now.bots)}`}
        </>
      ) : (
        ` · ${words.notKnown}`
      )}
      {before && ` · ${words.before(number(before.views))}`}
    </>
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
