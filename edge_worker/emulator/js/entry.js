// The module that goes around an uploaded script. It is the main module in workerd's eyes; the script's own main module
// is imported by it, after `Date` has been shifted. It adds nothing that the script can see but the shifted clock.
import { AsyncLocalStorage } from "node:async_hooks";
import { settings } from "./clock.js";
import * as script from "__MAIN__";

export * from "__MAIN__";

const invocations = new AsyncLocalStorage();
const running = new Set();
const totals = { max_d1_queries: 0 };

/** Runs one invocation of the script: `body` in a context of its own, alive until its waitUntil work has settled. */
function invoke(ctx, kind, body) {
  const invocation = { kind, d1_queries: 0, open: 1, failure: undefined, done: undefined };
  running.add(invocation);
  const close = () => {
    if (--invocation.open === 0) {
      running.delete(invocation);
      invocation.done?.();
    }
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
  const answer = invocations.run(invocation, async () => body());
  const ended = answer.then(close, close);
  return { invocation, answer, ended };
}

// Every statement of a D1 binding passes these two methods of the runtime's own client (workerd 2026-11: the fetcher
// itself is private). They count queries for each invocation: platform docs, 50 on the free plan, statements of a batch
// each. Bodies are not looked at: a script's CPU time is measured here.
function countQueries(env) {
  const database = Object.values(env).find((value) => value?.constructor?.name === "D1Database");
  if (!database || countQueries.done) return;
  countQueries.done = true;
  const session = Object.getPrototypeOf(database.withSession("first-primary"));
  const { _send: send, _wrappedFetch: call } = session;
  session._send = function (endpoint, query, ...more) {
    const invocation = invocations.getStore();
    if (invocation) {
      invocation.d1_queries += Array.isArray(query) ? query.length : 1;
      totals.max_d1_queries = Math.max(totals.max_d1_queries, invocation.d1_queries);
    }
    return send.call(this, endpoint, query, ...more);
  };
  session._wrappedFetch = async function (input, init) {
    if ((invocations.getStore()?.d1_queries ?? 0) > settings.max_d1_queries) {
      return Response.json({ success: false, error: "Too many API requests by single worker invocation." });
    }
    return call.call(this, input, init);
  };
}

const main = script.default;
const isClass = typeof main === "function";

/** The handler `name` of the script, whether its default export is an object or a WorkerEntrypoint class. */
function handler(name, env, ctx) {
  if (!isClass) return main[name] && ((event) => main[name](event, env, ctx));
  const instance = new main(ctx, env);
  return instance[name] && ((event) => instance[name](event));
}

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

/** Fires the cron and answers when it and its waitUntil work have ended, as the platform's own event does. */
async function fire({ cron, scheduledTime }, env, ctx) {
  countQueries(env);
  const controller = { type: "scheduled", cron, scheduledTime, noRetry() {} };
  const { invocation, answer, ended } = invoke(ctx, "scheduled", () => {
    const run = handler("scheduled", env, ctx);
    if (!run) throw new Error("Handler does not export a scheduled() function.");
    return run(controller);
  });
  let error;
  await answer.catch((thrown) => (error = thrown));
  await ended;
  while (invocation.open > 0) await new Promise((resolve) => setTimeout(resolve, 1));
  error ??= invocation.failure;
  return {
    outcome: error === undefined ? "ok" : "exception",
    error: error === undefined ? null : String(error?.stack ?? error),
    d1_queries: invocation.d1_queries,
  };
}

// Reached only over the emulator's own front worker; the names are no part of the platform.
export const EmulatorControl = {
  async fetch(request, env, ctx) {
    const { pathname } = new URL(request.url);
    if (pathname === "/cron") return Response.json(await fire(await request.json(), env, ctx));
    if (pathname === "/settings") Object.assign(settings, await request.json());
    if (pathname === "/settled") while (running.size > 0) await new Promise((resolve) => setTimeout(resolve, 1));
    const prototype = isClass ? main.prototype : (main ?? {});
    const handlers = ["fetch", "scheduled", "queue", "email", "tail"].filter((name) => name in prototype);
    return Response.json({ ...totals, running: running.size, handlers });
  },
};
