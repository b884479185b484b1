/** The outbox: a closed hour or day becomes parts of a push, made whole in SQL, in the transaction that closes it. */

import { DAY_MS, HOUR_MS, dateText } from "./time.js";

/** Parts stay well under what a push may have: a row of an hour or a day has at most about 60 characters. */
const PART_CHARS = 120_000;
const ROW_CHARS = 60;

/** … but a run has 50 queries (platform docs: D1 limits, free plan), so a very large day has larger ones. */
const CLOSING_PARTS = 15;

/** How long a part waits for its acknowledgement before it is given up. */
export const PARTS_KEPT_DAYS = 35;
export const PARTS_KEPT_MS = PARTS_KEPT_DAYS * DAY_MS;

// ?1 id, ?2 made_at, ?3 day, ?4 date, ?5 as_of, ?6 final, ?7 hours (JSON), ?8 refused hours (JSON), ?9 last hour
// covered, ?10 ?11 limit and offset of the targets. A subquery's JSON is text again, hence json(…) around each; numbers
// are bound as reals, hence the casts.
const INSERT_PART = `insert into outbox(id, made_at, part)
with named(target) as (
  select target from hour where day = ?3 and (?6 = 'true' or hour in (select value from json_each(?7)))
  group by target order by target limit ?10 offset ?11)
select ?1, ?2, json_object('day', ?4, 'as_of', cast(?5 as integer), 'final', json(?6),
  'hours', json((select json_group_array(json(one)) from (
    select json_object('at', cast((?3 * 24 + hour) * ${HOUR_MS} as integer), 'rows', json_group_array(json_array(
      target, views, bots, (select count(distinct list.value) from json_each(hour.visitors) list)))) one
    from hour where day = ?3 and hour in (select value from json_each(?7)) and target in (select target from named)
    group by hour))),
  'refused_hours', json(?8),
  'days', json((select json_group_array(json(one)) from (
    select json_array(target, sum(views), sum(bots), (
      select count(distinct list.value) from hour other, json_each(other.visitors) list
      where other.target = hour.target and other.day = ?3 and other.hour <= ?9)) one
    from hour where day = ?3 and hour <= ?9 and target in (select target from named) group by target))))`;

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
        .prepare(INSERT_PART)
        .bind(
          firstId + statements.length,
          now,
          day,
          dateText(day),
          day * DAY_MS + (last + 1) * HOUR_MS,
          String(final),
          JSON.stringify(hours),
          JSON.stringify(offset === 0 ? refused.map((hour) => day * DAY_MS + hour * HOUR_MS) : []),
          last,
          size,
          offset,
        ),
    );
  }
  return statements;
}

/**
 * What goes when a day is closed: its lists of hashes, its salt, parts that are too old.
 * @param {D1Database} db @param {number} day @param {number} now
 */
export function clearStatements(db, day, now) {
  return [
    db
      .prepare(
        "update day set totals = json_set(totals, '$.visitors', (" +
          "select count(distinct list.value) from hour, json_each(hour.visitors) list " +
          "where hour.target = day.target and hour.day = day.day)) " +
          // By its key: reading all days would cost a row read for each.
          "where day = ?1 and target in (select target from hour where day = ?1)",
      )
      .bind(day),
    db.prepare("delete from hour where day <= ?").bind(day),
    db.prepare("delete from salt where day <= ?").bind(day),
    db.prepare("delete from outbox where made_at < ?").bind(now - PARTS_KEPT_MS),
  ];
}
