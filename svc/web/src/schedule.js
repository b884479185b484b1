/** The times between which a link leads to its destinations. Pure functions. */

/**
 * @typedef {{starts_at: string | null, ends_at: string | null}} Schedule timestamps
 * @typedef {"before" | "during" | "after"} Kind
 * @typedef {{kind: Kind, from: string | null, to: string | null, isNow: boolean}} Phase
 */

/**
 * @param {Schedule} schedule
 * @param {number} now_ms since 1970
 * @returns {Phase[]} in order; only `during` if the link has neither a start nor an end
 */
export function phasesOf({ starts_at, ends_at }, now_ms) {
  /** @param {Kind} kind @param {string | null} from @param {string | null} to */
  const phase = (kind, from, to) => ({
    kind,
    from,
    to,
    isNow: (from === null || Date.parse(from) <= now_ms) && (to === null || now_ms < Date.parse(to)),
  });
  return [
    ...(starts_at === null ? [] : [phase("before", null, starts_at)]),
    phase("during", starts_at, ends_at),
    ...(ends_at === null ? [] : [phase("after", ends_at, null)]),
  ];
}

/** @param {Schedule} schedule @param {number} now_ms @returns {Kind} what visitors get now */
export const stateAt = (schedule, now_ms) => phasesOf(schedule, now_ms).find(({ isNow }) => isNow)?.kind ?? "during";

/** @param {string | null} at a timestamp @returns {string} the value of a `datetime-local` field, in local time */
export function toLocal(at) {
  if (at === null) return "";
  const time = new Date(at);
  const two = (/** @type {number} */ part) => `${part}`.padStart(2, "0");
  const day = [time.getFullYear(), two(time.getMonth() + 1), two(time.getDate())].join("-");
  return `${day}T${two(time.getHours())}:${two(time.getMinutes())}`;
}

/** @param {string} value of a `datetime-local` field @returns {string | null} the timestamp; null if it is not valid */
export function fromLocal(value) {
  const ms = value === "" ? NaN : new Date(value).getTime();
  return Number.isNaN(ms) ? null : new Date(ms).toISOString();
}

/**
 * @param {string} value of a `datetime-local` field
 * @param {string | null} before the stored timestamp
 * @returns {string | null} the stored timestamp if the field still shows it, because the field has no seconds
 */
export const edited = (value, before) => (value === toLocal(before) ? before : fromLocal(value));
