// The module that wraps an uploaded script. It is workerd's main module. It shifts `Date` and then imports the script's
// own main module. The script can notice no other difference.
import { AsyncLocalStorage } from "node:async_hooks";
import { settings } from "./clock.js";
import * as script from "__MAIN__";

export * from "__MAIN__";

/**
 * @typedef {object} Invocation
 * @property {string} kind
 * @property {number} d1_queries
 * @property {boolean} waits true if scheduler.wait takes real time; otherwise it returns immediately
 * @property {number} waited_ms total of the waits that were skipped
 * @property {number} open number of promises that have not settled
 * @property {unknown} failure reason of the first promise that was rejected
 * @property {number} until ms of the isolate's clock at which waitUntil work is canceled
 * @property {boolean} ended true if the invocation receives no further results
 * @property {(error: Error) => void} fail rejects the response unless the script has already responded
 */

// platform docs (runtime-apis/context): waitUntil work is canceled this long after the response.
const WAIT_UNTIL_MS = 30_000;

/** @type {AsyncLocalStorage<Invocation>} */
const invocations = new AsyncLocalStorage();
/** @type {Set<Invocation>} */
const running = new Set();
const totals = { max_d1_queries: 0 };

/**
 * Runs one invocation of the script: `body` in a separate context that lasts until its waitUntil work has settled.
 * @template T @param {ExecutionContext} ctx @param {string} kind
 * @param {(invocation: Invocation) => T | Promise<T>} body
 */
function invoke(ctx, kind, body) {
  /** @type {Invocation} */
  const invocation = {
    kind,
    d1_queries: 0,
    waits: true,
    waited_ms: 0,
    open: 1,
    failure: undefined,
    until: Infinity,
    ended: false,
    fail() {},
  };
  running.add(invocation);
  const close = () => {
    invocation.open -= 1;
    if (invocation.open === 0) running.delete(invocation);
  };
  const waitUntil = ctx.waitUntil;
  ctx.waitUntil = (promise) => {
    invocation.open += 1;
    const settled = Promise.resolve(promise).then(
      () => close(),
      (error) => {
        invocation.failure ??= error;
        close();
        throw error;
      },
    );
    waitUntil.call(ctx, settled);
  };
  const ended = new Promise((_, reject) => {
    invocation.fail = reject;
  });
  const answer = Promise.race([invocations.run(invocation, async () => body(invocation)), ended]);
  const answered = () => (invocation.until = performance.now() + WAIT_UNTIL_MS);
  if (kind === "fetch") answer.then(answered, answered);
  answer.then(close, close);
  return { invocation, answer };
}

/**
 * Passes a result on to the invocation, unless the invocation has ended in the meantime.
 * @template T @param {T} answer @returns {Promise<T>}
 */
function passOn(answer) {
  const invocation = invocations.getStore();
  if (invocation !== undefined && performance.now() >= invocation.until) end(invocation);
  return invocation?.ended ? new Promise(() => {}) : Promise.resolve(answer);
}

/** @param {Invocation} invocation */
function end(invocation) {
  invocation.ended = true;
  invocation.fail(new Error("the platform has ended this invocation"));
  running.delete(invocation);
}

const wait = scheduler.wait.bind(scheduler);
scheduler.wait = async (ms, options) => {
  const invocation = invocations.getStore();
  if (invocation === undefined || invocation.waits) return passOn(await wait(ms, options));
  invocation.waited_ms += ms;
  return passOn(await wait(0, options));
};

// Every statement of a D1 binding passes through two methods of the runtime's own client. `countQueries` wraps these
// methods, because the client's fetcher is private (workerd, November 2026). The wrappers count the queries of each
// invocation. The free plan allows 50, and each statement of a batch counts (platform docs). The wrappers do not parse
// bodies, because that would distort the script's measured CPU time.
let counting = false;

/** @param {Record<string, any>} env of the script */
function countQueries(env) {
  const database = Object.values(env).find((value) => value?.constructor?.name === "D1Database");
  if (!database || counting) return;
  counting = true;
  const session = Object.getPrototypeOf(database.withSession("first-primary"));
  const { _send: send, _wrappedFetch: call } = session;
  /** @this {unknown} @param {unknown} endpoint @param {unknown} query @param {unknown[]} more */
  session._send = function (endpoint, query, ...more) {
    const invocation = invocations.getStore();
    if (invocation) {
      invocation.d1_queries += Array.isArray(query) ? query.length : 1;
      totals.max_d1_queries = Math.max(totals.max_d1_queries, invocation.d1_queries);
    }
    return send.call(this, endpoint, query, ...more);
  };
  /** @this {unknown} @param {unknown} input @param {unknown} init */
  session._wrappedFetch = async function (input, init) {
    if ((invocations.getStore()?.d1_queries ?? 0) > settings.max_d1_queries) {
      return Response.json({ success: false, error: "Too many API requests by single worker invocation." });
    }
    const response = await call.call(this, input, init);
    const invocation = invocations.getStore();
    if (invocation !== undefined && response.headers.has("x-emulator-ended")) end(invocation);
    return passOn(response);
  };
}

/** @type {any} the script's default export: an object, or a WorkerEntrypoint class */
const main = script.default;
const isClass = typeof main === "function";

/**
 * Returns the script's handler `name`, for a default export that is an object or a WorkerEntrypoint class.
 * @param {string} name @param {object} env @param {ExecutionContext} ctx
 * @returns {((event: unknown) => any) | undefined}
 */
function handler(name, env, ctx) {
  if (!isClass) return main[name] && ((/** @type {unknown} */ event) => main[name](event, env, ctx));
  const instance = new main(ctx, env);
  return instance[name] && ((/** @type {unknown} */ event) => instance[name](event));
}

/** @type {ExportedHandler} */
export default {
  fetch(request, env, ctx) {
    countQueries(env);
    return invoke(ctx, "fetch", () => {
      const run = handler("fetch", env, ctx);
      if (!run) throw new Error("Handler does not export a fetch() function.");
      return run(request);
    }).answer;
  },
};

/**
 * Fires the cron and returns once it and its waitUntil work have ended, as the platform's own event does.
 * @param {{cron: string, scheduledTime: number, waits: boolean}} event
 * @param {object} env @param {ExecutionContext} ctx
 */
async function fire({ cron, scheduledTime, waits }, env, ctx) {
  countQueries(env);
  const controller = { type: "scheduled", cron, scheduledTime, noRetry() {} };
  const { invocation, answer } = invoke(ctx, "scheduled", (own) => {
    own.waits = waits;
    const run = handler("scheduled", env, ctx);
    if (!run) throw new Error("Handler does not export a scheduled() function.");
    return run(controller);
  });
  /** @type {any} */
  let error;
  answer.catch((thrown) => (error = thrown));
  while (invocation.open > 0 && !invocation.ended) await new Promise((resolve) => setTimeout(resolve, 1));
  error ??= invocation.failure;
  return {
    outcome: error === undefined ? "ok" : "exception",
    error: error === undefined ? null : String(error?.stack ?? error),
    d1_queries: invocation.d1_queries,
    waited_ms: invocation.waited_ms,
  };
}

// Reachable only through the emulator's front worker. The names are not part of the platform.
/** @type {ExportedHandler} */
export const EmulatorControl = {
  async fetch(request, env, ctx) {
    const { pathname } = new URL(request.url);
    if (pathname === "/cron") {
      return Response.json(await fire(/** @type {any} */ (await request.json()), /** @type {object} */ (env), ctx));
    }
    if (pathname === "/settings") Object.assign(settings, /** @type {object} */ (await request.json()));
    if (pathname === "/settled") while (running.size > 0) await new Promise((resolve) => setTimeout(resolve, 1));
    const prototype = isClass ? main.prototype : (main ?? {});
    const handlers = ["fetch", "scheduled", "queue", "email", "tail"].filter((name) => name in prototype);
    return Response.json({ ...totals, running: running.size, handlers });
  },
};
