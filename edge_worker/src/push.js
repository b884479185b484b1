/** The push: creates the request to the service, and applies the response to the outbox. Only `send` does I/O. */

import { HOUR_MS, MINUTE_MS, SECOND_MS } from "./time.js";

/**
 * Maximum number and total size of the parts in one push. The service accepts up to 1 MiB, but a run has only 10 ms of
 * CPU time.
 */
export const MAX_PARTS = 20;
export const PUSH_CHARS = 240_000;

const TIMEOUT_MS = 15 * SECOND_MS;
const ERROR_CHARS = 200;

/** If there are no parts to send, an hourly push waits until the previous hour is closed, but at most this long. */
const EMPTY_WAIT_MS = 10 * MINUTE_MS;

/**
 * @typedef {import("./state.js").State} State
 * @typedef {{id: number, part: string}} OutboxRow part: JSON without its id
 * @typedef {{PUSH_URL: string, WORKER_KEY: string, BUNDLE: string, INSTALL: string, PUSH_SECOND: string}} PushEnv
 *   INSTALL: id of the operation that uploaded this Worker; PUSH_SECOND: the second of the hour at which the account
 *   pushes
 * @typedef {{id: number, code: string}} Refusal
 * @typedef {{ok: boolean, accepted: number[], refused: Refusal[], unknown_targets: string[]}} Receipt
 * @typedef {{status: number, retryAfterS: number, receipt: Receipt | null, error: string}} Outcome status: 0 without a
 *   valid response
 */

/** @param {PushEnv} env @returns {number} the account's push time, in ms after the start of each hour */
const slotOf = (env) => (Number(env.PUSH_SECOND) || 0) * SECOND_MS;

/**
 * @param {number} now @param {PushEnv} env
 * @returns {number} epoch ms of the next hourly push after `now`
 */
export function nextSlot(now, env) {
  const slot = now - (now % HOUR_MS) + slotOf(env);
  return slot > now ? slot : slot + HOUR_MS;
}

/**
 * Returns the time at which a cron run has to push. Each account delays its pushes to a different second. Otherwise,
 * the pushes of all accounts would arrive at the same time, because all cron jobs start at the beginning of a minute.
 * The delays also spread the pushes after an outage of the service.
 * @param {number} now @param {PushEnv} env
 * @returns {number} epoch ms, within this minute
 */
export function ownSecond(now, env) {
  return Math.max(now, now - (now % MINUTE_MS) + (slotOf(env) % MINUTE_MS));
}

/**
 * @param {State} state @param {string} install @param {number} now
 * @returns {"no" | "now" | "if_queued"}
 */
export function pushDue({ push }, install, now) {
  // A new upload pushes immediately to confirm the install, even if the next push of the previous upload is not due
  // yet.
  if (push.tried !== install) return "now";
  if (now < push.next_at) return "no";
  return push.install !== install || push.fails > 0 || now >= push.next_at + EMPTY_WAIT_MS ? "now" : "if_queued";
}

/**
 * @param {PushEnv} env @param {{state: State, schema: number, now: number}} run schema: the database's schema version
 * @param {OutboxRow[]} rows @param {number} queue
 * @param {string | null} error @param {import("./state.js").ErrorKind | null} [errorKind]
 * @returns {string} the body as JSON
 */
export function pushBody(env, { state, schema, now }, rows, queue, error, errorKind) {
  const head = {
    v: 1,
    install: env.INSTALL,
    bundle: env.BUNDLE,
    schema,
    sent_at: now,
    queue,
    error: error === null ? null : error.slice(0, ERROR_CHARS),
    error_kind: errorKind,
    dropped: state.dropped,
  };
  // Insert the parts without parsing them, because they are already JSON.
  const parts = rows.map(({ id, part }) => `{"id":${id},${part.slice(1)}`);
  return `${JSON.stringify(head).slice(0, -1)},"parts":[${parts.join(",")}]}`;
}

/**
 * @param {PushEnv} env @param {string} body
 * @returns {Promise<Outcome>}
 */
export async function send(env, body) {
  try {
    const response = await fetch(env.PUSH_URL, {
      method: "POST",
      headers: { authorization: `Bearer ${env.WORKER_KEY}`, "content-type": "application/json" },
      body,
      // Do not follow redirects, because only the service may receive the key.
      redirect: "manual",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const retryAfterS = Number(response.headers.get("retry-after") ?? 0) || 0;
    const text = await response.text();
    const receipt = response.status === 200 ? readReceipt(text) : null;
    const error = receipt === null ? `push: the service responded with status ${response.status}` : "";
    return { status: receipt === null && response.status === 200 ? 0 : response.status, retryAfterS, receipt, error };
  } catch (error) {
    return {
      status: 0,
      retryAfterS: 0,
      receipt: null,
      error: `push: no response (${/** @type {Error} */ (error).name})`,
    };
  }
}

/** @param {unknown} value @returns {value is number[]} */
const areIds = (value) => Array.isArray(value) && value.every((id) => Number.isSafeInteger(id));

/**
 * @param {string} text
 * @returns {Receipt | null} null if this is not a valid response from the service
 */
export function readReceipt(text) {
  try {
    const receipt = JSON.parse(text);
    if (receipt.ok !== true || !areIds(receipt.accepted) || !Array.isArray(receipt.refused)) return null;
    if (!areIds(receipt.refused.map((/** @type {{id: unknown}} */ { id }) => id))) return null;
    const unknown = Array.isArray(receipt.unknown_targets) ? receipt.unknown_targets.map(String) : [];
    return { ok: true, accepted: receipt.accepted, refused: receipt.refused, unknown_targets: unknown };
  } catch {
    return null;
  }
}

/**
 * @param {State} state @param {PushEnv} env @param {OutboxRow[]} rows the sent rows @param {number} queue
 * @param {Outcome} outcome @param {number} now
 * @typedef {object} Pushed
 * @property {State} state the next state
 * @property {number[]} gone ids of the parts that leave the outbox
 * @property {number[]} accepted ids of the parts that the service accepted
 * @property {string[]} unknown ids of targets that the service does not know
 *
 * @returns {Pushed}
 */
export function afterPush(state, env, rows, queue, outcome, now) {
  const { receipt, status } = outcome;
  const dropped = { ...state.dropped };
  const push = { ...state.push, tried: env.INSTALL };
  if (receipt === null) {
    const only = status === 413 && rows.length === 1;
    if (only) dropped.invalid += 1;
    push.fails += 1;
    push.error = outcome.error;
    push.error_kind = "push";
    if (status === 413 && rows.length > 0) {
      push.most_parts = Math.max(1, Math.floor(rows.length / 2));
      push.next_at = now;
    } else if (status === 401) {
      push.next_at = now + HOUR_MS;
    } else {
      push.next_at = now + Math.max(outcome.retryAfterS * SECOND_MS, Math.min(60, 2 ** push.fails) * MINUTE_MS);
    }
    const gone = only ? rows.map(({ id }) => id) : [];
    return { state: { ...state, dropped, push }, gone, accepted: [], unknown: [] };
  }
  const sent = new Map(rows.map((row) => [row.id, row]));
  const refused = receipt.refused.filter(({ id }) => sent.has(id));
  for (const { code } of refused) dropped[code === "too_old" ? "too_old" : "invalid"] += 1;
  const gone = [...new Set([...receipt.accepted, ...refused.map(({ id }) => id)])].filter((id) => sent.has(id));
  if (receipt.unknown_targets.length > 0) {
    dropped.unknown_target += countRows(
      gone.map((id) => sent.get(id)?.part ?? "{}"),
      new Set(receipt.unknown_targets),
    );
  }
  push.install = env.INSTALL;
  push.most_parts = Math.min(MAX_PARTS, push.most_parts * 2);
  const stuck = rows.length > 0 && gone.length === 0;
  push.fails = stuck ? push.fails + 1 : 0;
  push.error = stuck ? "push: the service acknowledged none of the parts" : null;
  push.error_kind = stuck ? "push" : null;
  const more = queue > gone.length && !stuck;
  push.next_at = more ? now : nextSlot(now, env);
  return { state: { ...state, dropped, push }, gone, accepted: receipt.accepted, unknown: receipt.unknown_targets };
}

/**
 * @param {string[]} parts JSON @param {Set<string>} targets
 * @returns {number} number of day rows for these targets
 */
function countRows(parts, targets) {
  return parts.reduce((sum, part) => {
    const { days = [] } = /** @type {{days?: [string][]}} */ (JSON.parse(part));
    return sum + days.filter(([target]) => targets.has(target)).length;
  }, 0);
}
