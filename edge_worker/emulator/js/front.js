// The edge: finds the route of a request, counts it, and hands it to the script in this same process. Requests come
// straight to this worker's socket; Python only tells it (Control) what has changed, and reads its counters.
import { WorkerEntrypoint, env } from "cloudflare:workers";
import { compile, find } from "./routes.js";
import { refusal } from "./pages.js";

const DAY_MS = 86_400_000;
// A visitor's place when the request does not name one (header X-Emulator-Cf).
const CF = { colo: "AMS", country: "US", city: "Austin", continent: "NA", asn: 64500, asOrganization: "Example Net",
  httpProtocol: "HTTP/1.1", tlsVersion: "TLSv1.3", timezone: "America/Chicago" };

const world = { offset_ms: 0, zones: {}, accounts: {}, watch_d1: false, ...env.INIT };
let table = compile(world.zones);
let open = 0; // requests that have come and have no answer yet
const counts = {}; // account → emulated day → {requests, errors, refused}, since this process began

const today = () => Math.floor((Date.now() + world.offset_ms) / DAY_MS);

function counterOf(account, script) {
  const day = ((counts[account] ??= {})[today()] ??= { requests: 0, scripts: {} });
  day.scripts[script] ??= { requests: 0, errors: 0, subrequests: 0 };
  return day;
}

const origin = (request) => env.ORIGIN.fetch(request);

/** The request as a worker sees it: where it comes from in `cf` and the headers of the edge, ours taken off. */
function dressed(request) {
  const headers = new Headers(request.headers);
  const asked = headers.get("x-emulator-cf");
  const cf = asked === null ? CF : (JSON.parse(asked) ?? {}); // null: nothing known of the visitor
  const ip = headers.get("x-emulator-ip") ?? "127.0.0.1";
  headers.delete("x-emulator-cf");
  headers.delete("x-emulator-ip");
  headers.set("cf-connecting-ip", ip);
  headers.set("x-forwarded-for", ip);
  headers.set("cf-ray", "8f0000000000000a-AMS");
  if (cf?.country) headers.set("cf-ipcountry", cf.country);
  else headers.delete("cf-ipcountry");
  return new Request(request, { headers, cf });
}

async function answer(request) {
  const url = new URL(request.url);
  const route = find(table, url.hostname.toLowerCase(), url.pathname + url.search);
  const visit = dressed(request);
  if (!route?.service) return origin(visit);
  const { account, script, service } = route;
  const known = world.accounts[account];
  const day = counterOf(account, script);
  // platform docs: past the daily requests a route fails closed with error 1027, or open to the origin when it says so
  if (day.requests + (known.base[today()] ?? 0) >= known.max_requests) {
    return route.fail_open ? origin(visit) : refusal(429, 1027, "This website has been temporarily rate limited");
  }
  day.requests += 1;
  const counter = day.scripts[script];
  counter.requests += 1;
  try {
    return await env[service].fetch(visit);
  } catch (error) {
    counter.errors += 1;
    console.error(`script ${script}: ${error?.stack ?? error}`);
    return refusal(500, 1101, "Worker threw exception");
  }
}

export default {
  async fetch(request) {
    open += 1;
    try {
      return await answer(request);
    } finally {
      open -= 1;
    }
  },
};

/** Asks Python whether a fault waits for this call: null, or {kind, status}. */
async function fault(call) {
  const init = { method: "POST", body: JSON.stringify(call) };
  const response = await env.EMULATOR.fetch("http://emulator/_emulator/fault", init);
  return await response.json();
}

const LOST = "Network connection lost.";

/** What a script's own fetch() goes through (platform docs: a fetch to the script's own zone goes to the origin). */
export class Egress extends WorkerEntrypoint {
  async fetch(request) {
    const { account, script } = this.ctx.props;
    counterOf(account, script).scripts[script].subrequests += 1;
    const host = new URL(request.url).hostname.toLowerCase();
    const zone = Object.keys(world.zones).find((name) => host === name || host.endsWith(`.${name}`));
    if (zone !== undefined) return world.zones[zone].account === account ? origin(request) : answer(request);
    const found = await fault({ side: "egress", account, script, method: request.method, target: request.url });
    if (found?.kind === "egress_drop_before") throw new Error(LOST);
    if (found?.kind === "egress_status") return new Response(found.body ?? "", { status: found.status });
    const response = await env.NET.fetch(request);
    if (found?.kind !== "egress_drop_after") return response;
    await response.arrayBuffer();
    throw new Error(LOST);
  }
}

/** What a script's `caches` go through: to where things outlive an upload. */
export class CacheApi extends WorkerEntrypoint {
  async fetch(request) {
    const { method, url } = request;
    const namespace = request.headers.get("cf-cache-namespace") ?? "";
    const call = JSON.stringify({ account: this.ctx.props.account, method, key: `${namespace} ${url}` });
    const body = await request.arrayBuffer();
    return env.DATABASES.fetch("http://d1/cache", { method: "POST", headers: { "x-cache-call": call }, body });
  }
}

// platform docs (d1/observability/debug-d1): a database takes one statement at a time and refuses what queues up.
const MAX_QUEUED = 400;
const OVERLOADED = "D1 DB is overloaded. Too many requests queued.";
const queued = new Map();

/** A D1 binding's other end. */
export class D1Binding extends WorkerEntrypoint {
  async fetch(request) {
    const { account, script, database } = this.ctx.props;
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/dump") return Response.json({ success: false, error: "dump is not supported" });
    const call = { side: "d1", account, script, method: "POST", target: database };
    const found = world.watch_d1 ? await fault(call) : null;
    if (found?.kind === "d1_drop_before") return Response.json({ success: false, error: LOST });
    const waiting = queued.get(database) ?? 0;
    if (waiting >= MAX_QUEUED) return Response.json({ success: false, error: OVERLOADED });
    queued.set(database, waiting + 1);
    const format = searchParams.get("resultsFormat") ?? "ARRAY_OF_OBJECTS";
    const response = await this.#send(database, format, request).finally(() =>
      queued.set(database, queued.get(database) - 1),
    );
    if (found?.kind !== "d1_drop_after") return response;
    return Response.json({ success: false, error: LOST });
  }

  async #send(database, format, request) {
    const url = `http://d1/query?db=${database}&resultsFormat=${format}`;
    const response = await env.DATABASES.fetch(url, { method: "POST", body: await request.arrayBuffer() });
    return new Response(await response.arrayBuffer(), response);
  }
}

const controlOf = (service) => env[`${service}_control`];

async function eachScript(path, body) {
  const entries = Object.entries(world.services);
  const answers = await Promise.all(
    entries.map(async ([service]) => {
      const init = { method: "POST", body: JSON.stringify(body) };
      return [service, await (await controlOf(service).fetch(`http://script${path}`, init)).json()];
    }),
  );
  return Object.fromEntries(answers);
}

/** Waits until no script runs: no open request, no cron, no waitUntil work. */
async function settled() {
  for (;;) {
    const scripts = await eachScript("/settled", {});
    if (open === 0 && Object.values(scripts).every((script) => script.running === 0)) return scripts;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

const commands = {
  async "/update"(change) {
    Object.assign(world, change);
    if (change.zones) table = compile(world.zones);
    await Promise.all(
      Object.entries(world.services).map(([service, { account }]) =>
        controlOf(service).fetch("http://script/settings", {
          method: "POST",
          body: JSON.stringify({ offset_ms: world.offset_ms, max_d1_queries: world.accounts[account].max_d1_queries }),
        }),
      ),
    );
    return {};
  },
  async "/counts"() {
    return { counts, scripts: await eachScript("/state", {}) };
  },
  async "/settled"() {
    return { counts, scripts: await settled() };
  },
  async "/cron"({ service, ...event }) {
    const init = { method: "POST", body: JSON.stringify(event) };
    return await (await controlOf(service).fetch("http://script/cron", init)).json();
  },
};

/** For a process that is to end: the answer begins at once and closes when all work is done. */
function lastWords(hold_ms) {
  const { readable, writable } = new TransformStream();
  const writer = writable.getWriter();
  const encoder = new TextEncoder();
  const speak = async () => {
    await writer.write(encoder.encode(" "));
    await new Promise((resolve) => setTimeout(resolve, hold_ms)); // what was accepted and not yet read comes in
    await writer.write(encoder.encode(JSON.stringify({ counts, scripts: await settled() })));
    await writer.close();
  };
  return { response: new Response(readable), spoken: speak() };
}

export class Control extends WorkerEntrypoint {
  async fetch(request) {
    const body = await request.json();
    const { pathname } = new URL(request.url);
    if (pathname === "/last-words") {
      const { response, spoken } = lastWords(body.hold_ms);
      this.ctx.waitUntil(spoken);
      return response;
    }
    return Response.json(await commands[pathname](body));
  }
}
