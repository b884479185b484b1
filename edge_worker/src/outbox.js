/**
 * The outbox contains the parts of the next pushes. Each part contains the totals of one day. The transaction that
 * closes an hour or day also builds its parts, entirely in SQL.
 */

import { DAY_MS, HOUR_MS, dateText } from "./time.js";

/**
 * Usual maximum size of a part, far below the size limit of a push. Parts are larger only if CLOSING_PARTS parts of
 * this size cannot contain all targets. Each row of a part takes at most about 60 characters.
 */
const PART_CHARS = 120_000;
const ROW_CHARS = 60;

/**
 * Maximum number of parts that a cron run builds when it closes hours or a day. A run can make only 50 queries
 * (Cloudflare docs: D1 limits, free plan).
 */
const CLOSING_PARTS = 15;

/** A part that the service does not acknowledge within this time is dropped. */
export const PARTS_KEPT_DAYS = 35;
export const PARTS_KEPT_MS = PARTS_KEPT_DAYS * DAY_MS;

// Parameters: ?1 id, ?2 made_at, ?3 day, ?4 date, ?5 as_of, ?6 final, ?7 hours (JSON), ?8 refused hours (JSON), ?9 last
// hour covered, ?10 and ?11 limit and offset of the targets. json(…) is needed because a subquery returns its JSON as
// text. The casts are needed because D1 binds numbers as floating-point numbers.
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
 * @property {number[]} hours hours of the day (0 to 23) to send
 * @property {number[]} refused hours of the day whose totals are not sent because of the write budget
 * @property {number} last the last hour of the day (0 to 23, or -1) that the totals cover
 * @property {boolean} final
 * @property {number} targets number of targets in all parts together
 */

/**
 * @param {D1Database} db
 * @param {Closing} closing
 * @param {number} firstId
 * @param {number} now
 * @returns {D1PreparedStatement[]} one per part
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
 * Returns the statements that store the visitor counts of a closed day, and delete its salt and expired parts.
 * @param {D1Database} db @param {number} day @param {number} now
 */
export function clearStatements(db, day, now) {
  return [
    db
      .prepare(
        "update day set totals = json_set(totals, '$.visitors', (" +
          "select count(distinct list.value) from hour, json_each(hour.visitors) list " +
          "where hour.target = day.target and hour.day = day.day)) " +
          // Find the rows by their key, because a scan of the table would read the rows of all days.
          "where day = ?1 and target in (select target from hour where day = ?1)",
      )
      .bind(day),
    db.prepare("delete from salt where day <= ?").bind(day),
    db.prepare("delete from outbox where made_at < ?").bind(now - PARTS_KEPT_MS),
  ];
}
