/** The push: what is sent to the service, and what its answer means for the outbox. Pure, but for `send`. */

import { HOUR_MS, MINUTE_MS, SECOND_MS } from "./time.js";

/** Limits of one push: the service takes more (1 MiB), a run has 10 ms of CPU. */
export const MOST_PARTS = 20;
export const PUSH_CHARS = 240_000;

const TIMEOUT_MS = 15 * SECOND_MS;
const ERROR_CHARS = 200;

/** How long an hourly push with nothing to send waits for the hour to be closed before it is sent empty. */
export const EMPTY_WAIT_MS = 10 * MINUTE_MS;

/**
 * @typedef {import("./state.js").State} State
 * @typedef {{id: number, part: string}} OutboxRow part: JSON without its id
 * @typedef {{PUSH_URL: string, WORKER_KEY: string, BUNDLE: string, INSTALL: string, PUSH_SECOND: string}} PushEnv
 *   PUSH_SECOND: of the hour
 * @typedef {{ok: boolean, accepted: number[], refused: {id: number, code: string}[], unknown_targets: string[]}} Answer
 * @typedef {{status: number, retryAfterS: number, answer: Answer | null, error: string}} Outcome status 0: no answer
 */

/** @param {PushEnv} env @returns {number} ms from the beginning of each hour */
const slotOf = (env) => (Number(env.PUSH_SECOND) || 0) * SECOND_MS;

/**
 * @param {number} now @param {PushEnv} env
 * @returns {number} epoch ms of the next time of the hourly push after now
 */
export function nextSlot(now, env) {
  const slot = now - (now % HOUR_MS) + slotOf(env);
  return slot > now ? slot : slot + HOUR_MS;
}

/**
 * When a run of the cron is to push. All crons begin with the minute: each account waits for its own second of it, with
 * every push, so that those that were missed while the service was away do not come at once either.
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
  // A new upload confirms itself at once, whatever the old one was waiting for.
  if (push.tried !== install) return "now";
  if (now < push.next_at) return "no";
  return push.install !== install || push.fails > 0 || now >= push.next_at + EMPTY_WAIT_MS ? "now" : "if_queued";
}

/**
 * @param {PushEnv} env @param {{state: State, schema: number, now: number}} run schema: the database's
 * @param {OutboxRow[]} rows @param {number} queue
 * @param {string | null} error @param {import("./state.js").ErrorKind | null} [errorKind]
 * @returns {string} the body, JSON
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
  // The parts are JSON already, and never parsed here.
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
      // A redirect is not followed: the key goes to the service and to nobody else.
      redirect: "manual",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const retryAfterS = Number(response.headers.get("retry-after") ?? 0) || 0;
    const text = await response.text();
    const answer = response.status === 200 ? readAnswer(text) : null;
    const error = answer === null ? `push: the service answered ${response.status}` : "";
    return { status: answer === null && response.status === 200 ? 0 : response.status, retryAfterS, answer, error };
  } catch (error) {
    return { status: 0, retryAfterS: 0, answer: null, error: `push: no answer (${/** @type {Error} */ (error).name})` };
  }
}

/** @param {unknown} value @returns {value is number[]} */
const areIds = (value) => Array.isArray(value) && value.every((id) => Number.isSafeInteger(id));

/**
 * @param {string} text
 * @returns {Answer | null} null: not an answer of the service
 */
export function readAnswer(text) {
  try {
    const answer = JSON.parse(text);
    if (answer.ok !== true || !areIds(answer.accepted) || !Array.isArray(answer.refused)) return null;
    if (!areIds(answer.refused.map((/** @type {{id: unknown}} */ { id }) => id))) return null;
    const unknown = Array.isArray(answer.unknown_targets) ? answer.unknown_targets.map(String) : [];
    return { ok: true, accepted: answer.accepted, refused: answer.refused, unknown_targets: unknown };
  } catch {
    return null;
  }
}

/**
 * @param {State} state @param {PushEnv} env @param {OutboxRow[]} rows what was sent @param {number} queue
 * @param {Outcome} outcome @param {number} now
 * @typedef {object} Pushed
 * @property {State} state the next one
 * @property {number[]} gone the parts that leave the outbox
 * @property {number[]} accepted those of them that the service has taken
 * @property {string[]} unknown targets that it does not know
 *
 * @returns {Pushed}
 */
export function afterPush(state, env, rows, queue, outcome, now) {
  const { answer, status } = outcome;
  const dropped = { ...state.dropped };
  const push = { ...state.push, tried: env.INSTALL };
  if (answer === null) {
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
  const refused = answer.refused.filter(({ id }) => sent.has(id));
  for (const { code } of refused) dropped[code === "too_old" ? "too_old" : "invalid"] += 1;
  const gone = [...new Set([...answer.accepted, ...refused.map(({ id }) => id)])].filter((id) => sent.has(id));
  if (answer.unknown_targets.length > 0) {
    dropped.unknown_target += countRows(
      gone.map((id) => sent.get(id)?.part ?? "{}"),
      new Set(answer.unknown_targets),
    );
  }
  push.install = env.INSTALL;
  push.most_parts = Math.min(MOST_PARTS, push.most_parts * 2);
  const stuck = rows.length > 0 && gone.length === 0;
  push.fails = stuck ? push.fails + 1 : 0;
  push.error = stuck ? "push: the service named none of the parts sent" : null;
  push.error_kind = stuck ? "push" : null;
  const more = queue > gone.length && !stuck;
  push.next_at = more ? now : nextSlot(now, env);
  return { state: { ...state, dropped, push }, gone, accepted: answer.accepted, unknown: answer.unknown_targets };
}

/**
 * @param {string[]} parts JSON @param {Set<string>} targets
 * @returns {number} day rows of these targets
 */
function countRows(parts, targets) {
  return parts.reduce((sum, part) => {
    const { days = [] } = /** @type {{days?: [string][]}} */ (JSON.parse(part));
    return sum + days.filter(([target]) => targets.has(target)).length;
  }, 0);
}
