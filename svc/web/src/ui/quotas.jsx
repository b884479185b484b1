/** Bars that show how many objects of each kind a user has, relative to the limits of the plan. */

import { number } from "../format.js";
import { t } from "../words.js";
import { Gauge } from "./gauge.jsx";

/** @param {{rows: {title: string, used: number, most: number}[]}} props */
export const Quotas = ({ rows }) => (
  <ul class="gauges quotas">
    {rows.map(({ title, used, most }) => {
      const text = t().profile.of(number(used), number(most));
      return (
        <li key={title}>
          <span class="name">{title}</span>
          <Gauge label={title} text={text} part={most > 0 ? used / most : 1} />
          <span class="number">{text}</span>
        </li>
      );
    })}
  </ul>
);
