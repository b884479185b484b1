/**
 * The numbers in a chart: the numbers of one slot, shown above the slot, and the table of all slots. This code is
 * loaded after the chart.
 */

import { number } from "../format.js";
import { partName, partTitle } from "../part-name.js";
import { t } from "../words.js";
import { Change } from "./change.jsx";

/**
 * @typedef {import("../series.js").Slot} Slot
 * @typedef {import("./chart.jsx").Drawn} Drawn
 */

/**
 * The numbers of a slot. Screen readers get them from the slider's value.
 * @param {Drawn & {slot: Slot, at: number, isRunning: boolean}} props `at`: the slot's middle, from 0 to 1
 */
export function Tip({ kind, by, bots, slot, at, isRunning }) {
  const words = t().report;
  const { now, before, earlier } = slot;
  /** @param {string} name @param {number} count @param {number | undefined} was */
  const row = (name, count, was) => (
    <tr>
      <th scope="row">{name}</th>
      <td>{number(count)}</td>
      {before && <td>{number(was ?? 0)}</td>}
      {before && <td>{was && !isRunning ? <Change now={count} before={was} /> : null}</td>}
    </tr>
  );
  return (
    <div class="tip" aria-hidden="true" ref={(element) => element?.style.setProperty("--at", String(at))}>
      <b>{partName(slot, by)}</b> {isRunning && words.soFar}
      {earlier && <p class="small">{t().range.versus(partName(earlier, by))}</p>}
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
      {now?.estimated && <p class="small">{words.estimated}</p>}
    </div>
  );
}

/** @param {Drawn} props */
export function Table({ kind, by, slots, comparison }) {
  const words = t().report;
  const compared = slots.some(({ earlier }) => earlier);
  return (
    <table class="figures">
      <thead>
        <tr>
          <th scope="col">{t().range.parts[by]}</th>
          <th scope="col">{kind === "site" ? words.views : words.clicks}</th>
          <th scope="col">{words.visitors}</th>
          <th scope="col">{words.bots}</th>
          {compared && <th scope="col">{comparison}</th>}
        </tr>
      </thead>
      <tbody>
        {slots.map((slot) => {
          const { at, now, before } = slot;
          return (
            <tr key={at}>
              <th scope="row">
                {partTitle(slot, by)}
                {now?.estimated && <span class="small"> ({words.estimated})</span>}
              </th>
              <td>{now ? number(now.views) : "–"}</td>
              <td>{now ? number(now.visitors) : "–"}</td>
              <td>{now ? number(now.bots) : "–"}</td>
              {compared && <td>{before ? number(before.views) : "–"}</td>}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
