/** A relative date or time, with the absolute date or time in its tooltip. */

import { ago, daysAgo, longDay, moment } from "../format.js";

/** @param {{at: string}} props a timestamp, or a UTC day such as `2026-11-21` */
export const When = ({ at }) =>
  at.length === "2026-11-21".length ? (
    <time dateTime={at} title={longDay(at)}>
      {daysAgo(at)}
    </time>
  ) : (
    <time dateTime={at} title={moment(at)}>
      {ago(at)}
    </time>
  );
