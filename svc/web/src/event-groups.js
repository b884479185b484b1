/**
 * Groups events: each group is an operation on an account, and the status changes that the operation caused. Pure
 * functions.
 */

/**
 * @typedef {import("./wire").NamedEvent} Event
 * @typedef {{id: string, event: Event, changes: Event[]}} Group `changes`: newest first
 */

const STATE = "account.state";
const OPERATIONS = ["account.connect", "account.renew", "account.install", "account.update", "account.disconnect"];
// Maximum time from an operation to a status change that it caused. The first push after an installation can take 25
// minutes.
const LONGEST_MS = 30 * 60_000;
// Maximum time by which a status change can precede its operation, because both are recorded in one transaction.
const EARLIEST_MS = 5_000;

/**
 * @param {Event[]} events newest first
 * @returns {Group[]} newest first; a status change without an operation is a group without `changes`
 */
export function grouped(events) {
  /** @type {Group[]} */
  const groups = [];
  /** Status changes that are newer than all operations so far, by account. @type {Map<string, Group[]>} */
  const open = new Map();
  for (const event of events) {
    const group = { id: event.id, event, changes: /** @type {Event[]} */ ([]) };
    groups.push(group);
    const target = event.target ?? "";
    if (event.action === STATE) open.set(target, [...(open.get(target) ?? []), group]);
    if (!OPERATIONS.includes(event.action)) continue;
    const at_ms = Date.parse(event.at);
    const own = (open.get(target) ?? []).filter((one) => Date.parse(one.event.at) - at_ms <= LONGEST_MS);
    group.changes = own.map((one) => one.event);
    for (const one of own) groups.splice(groups.indexOf(one), 1);
    open.set(target, []);
  }
  return groups.reduce(joinEarlier, /** @type {Group[]} */ ([]));
}

/**
 * Add a status change that is slightly older than its operation to the group of the operation.
 * @param {Group[]} joined @param {Group} group @returns {Group[]}
 */
function joinEarlier(joined, group) {
  const operation = joined.findLast(
    ({ event }) => OPERATIONS.includes(event.action) && event.target === group.event.target,
  );
  const isEarly =
    group.event.action === STATE &&
    operation !== undefined &&
    Date.parse(operation.event.at) - Date.parse(group.event.at) <= EARLIEST_MS;
  if (!isEarly) return [...joined, group];
  operation.changes.push(group.event);
  return joined;
}

/** @param {Group} group @returns {boolean} true if it is a status change that no operation caused */
export const isStateChange = ({ event }) => event.action === STATE;

/** @param {Group} group @returns {Event} the event whose outcome is the latest result of the group */
export const latest = ({ event, changes }) => changes[0] ?? event;
