/** The queue: a closed hour or day becomes parts of `out`, made whole in SQL, in the transaction that closes it. */

import { DAY_MS, HOUR_MS, dateText } from "./time.js";

/** Parts stay well under what a push may have: a row of an hour or a day has at most about 60 characters. */
const PART_CHARS = 120_000;
const ROW_CHARS = 60;

/** … but a run has 50 queries (platform docs: D1 limits, free plan), so a very large day has larger ones. */
const CLOSING_PARTS = 15;

/** Report periods end 30 days back; a few more for the service's clock. */
export const DAYS_KEPT = 35;

/** A part that was not acknowledged for so long is given up. */
export const OUT_KEPT_MS = 35 * DAY_MS;

// ?1 id, ?2 born, ?3 day, ?4 date, ?5 as_of, ?6 final, ?7 hours (JSON), ?8 refused hours (JSON), ?9 last hour covered,
// ?10 ?11 limit and offset of the targets. A subquery's JSON is text again, hence json(…) around
// each; numbers are bound as reals, hence the casts.
const PART = `insert into out(id, born, body)
with named(t) as (select t from hr where d = ?3 and (?6 = 'true' or h in (select value from json_each(?7)))
  group by t order by t limit ?10 offset ?11)
select ?1, ?2, json_object('day', ?4, 'as_of', cast(?5 as integer), 'final', json(?6),
  'hours', json((select json_group_array(json(o)) from (
    select json_object('at', cast((?3 * 24 + h) * ${HOUR_MS} as integer), 'rows', json_group_array(json_array(t, v, b,
      (select count(distinct l.value) from json_each(hr.u) l)))) o
    from hr where d = ?3 and h in (select value from json_each(?7)) and t in (select t from named) group by h))),
  'refused_hours', json(?8),
  'days', json((select json_group_array(json(o)) from (
    select json_array(t, sum(v), sum(b), (select count(distinct l.value) from hr x, json_each(x.u) l
      where x.t = hr.t and x.d = ?3 and x.h <= ?9)) o
    from hr where d = ?3 and h <= ?9 and t in (select t from named) group by t))))`;

/**
 * @typedef {object} Closing
 * @property {number} day epoch day
 * @property {number[]} hours hours of the day (0 to 23) that go out
 * @property {number[]} refused hours of the day whose points the write budget refused
 * @property {number} last the last hour of the day (0 to 23, or -1) that the totals cover
 * @property {boolean} final
 * @property {number} targets how many targets the part names
 */

/**
 * @param {D1Database} db
 * @param {Closing} closing
 * @param {number} firstId
 * @param {number} now
 * @returns {D1PreparedStatement[]} one a part
 */
export function partStatements(db, closing, firstId, now) {
  const { day, hours, refused, last, final, targets } = closing;
  const fits = Math.floor(PART_CHARS / (ROW_CHARS * (hours.length + 1)));
  const size = Math.max(1, fits, Math.ceil(targets / CLOSING_PARTS));
  const statements = [];
  for (let offset = 0; offset === 0 || offset < targets; offset += size) {
    statements.push(
      db
        .prepare(PART)
        .bind(
          firstId + statements.length,
          now,
          day,
          dateText(day),
          day * DAY_MS + (last + 1) * HOUR_MS,
          String(final),
          JSON.stringify(hours),
          JSON.stringify(offset === 0 ? refused.map((h) => day * DAY_MS + h * HOUR_MS) : []),
          last,
          size,
          offset,
        ),
    );
  }
  return statements;
}

/**
 * What goes when a day is closed: its lists of hashes, its salt, days and parts that are too old.
 * @param {D1Database} db @param {number} day @param {number} now
 */
export function clearStatements(db, day, now) {
  return [
    db
      .prepare(
        "update day set j = json_set(j, '$.u', (select count(distinct l.value) from hr, json_each(hr.u) l " +
          "where hr.t = day.t and hr.d = day.d)) where d = ?",
      )
      .bind(day),
    db.prepare("delete from hr where d <= ?").bind(day),
    db.prepare("delete from salt where d <= ?").bind(day),
    db.prepare("delete from day where d < ?").bind(day - DAYS_KEPT),
    db.prepare("delete from out where born < ?").bind(now - OUT_KEPT_MS),
  ];
}
