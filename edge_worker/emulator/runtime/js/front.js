// The edge: finds the route of a request, counts the request, and passes it to the script in this same process.
// Requests arrive directly at this worker's socket. Python only sends changes (Control) and reads the counters.
import { WorkerEntrypoint, env } from "cloudflare:workers";
import { behind, compile, find } from "./routes.js";
import { answerOf, passed, refusal } from "./pages.js";

const DAY_MS = 86_400_000;
// Default location of a visitor, if the request has no X-Emulator-Cf header.
const CF = {
  country: "US",
  city: "Austin",
  continent: "NA",
  asn: 64500,
  asOrganization: "Example Net",
  httpProtocol: "HTTP/1.1",
  tlsVersion: "TLSv1.3",
  timezone: "America/Chicago",
};

/**
 * @typedef {{account: string, script: string}} ScriptProps properties of a script's binding
 * @typedef {object} World state from Python
 * @property {number} offset_ms
 * @property {string} place data center of this process
 * @property {Record<string, Zone>} zones by name
 * @property {Record<string, FrontAccount>} accounts by id
 * @property {Record<string, {account: string}>} services the scripts' processes by name
 * @property {boolean} watch_d1 true if a fault for database calls is active
 * @property {boolean} local_egress true if a worker's fetch can reach addresses of this machine
 */

/** @type {World} */
const world = {
  offset_ms: 0,
  place: "AMS",
  zones: {},
  accounts: {},
  services: {},
  watch_d1: false,
  local_egress: false,
  ...env.INIT,
};
let table = compile(world.zones);
let open = 0; // requests that have no response yet
/** @type {Record<string, Keyed<{requests: number, scripts: Record<string, ScriptCounts>}>>} */
const counts = {}; // counts since this process started, by account and emulated day

const today = () => Math.floor((Date.now() + world.offset_ms) / DAY_MS);

/** @param {string} account */
const dayOf = (account) => ((counts[account] ??= {})[today()] ??= { requests: 0, scripts: {} });

/** @param {string} account @param {string} script */
const counterOf = (account, script) => (dayOf(account).scripts[script] ??= { requests: 0, errors: 0, subrequests: 0 });

/** @param {string} host @returns {[string, Zone] | undefined} name and data of the host's zone */
function zoneOf(host) {
  return Object.entries(world.zones).find(([name]) => host === name || host.endsWith(`.${name}`));
}

/** @param {string} host @returns {FrontRule | undefined} the rule that answers this host's requests before a worker */
function frontRuleOf(host) {
  const zone = zoneOf(host)?.[1];
  const rule = zone?.front_rules[host];
  return rule !== undefined && zone?.active && behind(zone, host) !== "past" ? rule : undefined;
}

/**
 * Calls a cache of the URL's zone in this data center.
 * @param {string} name "": the zone's default cache, which is also `caches.default`
 * @param {string} method @param {string} url @param {ArrayBuffer} [body]
 */
function askCache(name, method, url, body) {
  const [zone] = zoneOf(new URL(url).hostname.toLowerCase()) ?? [""];
  const call = JSON.stringify({ cache: `${zone} ${world.place} ${name}`, method, url });
  return env.DATABASES.fetch("http://d1/cache", { method: "POST", headers: { "x-cache-call": call }, body });
}

/**
 * Returns the response of the zone's cache, or else that of the origin server. On the platform, zone rules decide
 * what is cached. Here, every URL is cached ("cache everything"). A dummy record has no server: the platform returns
 * error 522 after a wait (platform docs), and the emulator returns it immediately.
 * @param {Request} request @returns {Promise<Response>}
 */
async function origin(request) {
  if (request.method === "GET") {
    const kept = await askCache("", "GET", request.url);
    if (kept.headers.get("cf-cache-status") === "HIT") return kept;
  }
  const host = new URL(request.url).hostname.toLowerCase();
  const server = behind(zoneOf(host)?.[1], host);
  if (server === "nothing") return refusal(522, 522, "Connection timed out");
  const response = await env.ORIGIN.fetch(request);
  return server === "origin" ? passed(response) : response;
}

/**
 * Returns the request as a Worker sees it: with `cf` and the edge's headers, without the emulator's headers.
 * @param {Request} request
 */
function asWorkersSeeIt(request) {
  const headers = new Headers(request.headers);
  const asked = headers.get("x-emulator-cf");
  // null: the edge knows nothing about the visitor's location
  const cf = asked === null ? { colo: world.place, ...CF } : (JSON.parse(asked) ?? {});
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

// platform docs (workers/platform/limits). A body without Content-Length is not limited.
const MAX_URL_BYTES = 16_384;
const MAX_HEADERS_BYTES = 131_072;
const MAX_BODY_BYTES = 100_000_000;

/** @param {Request} request @returns {Response | null} the edge's error response */
function tooLarge({ url, headers }) {
  if (url.length > MAX_URL_BYTES) return new Response(null, { status: 414 });
  if (Number(headers.get("content-length")) > MAX_BODY_BYTES) return new Response(null, { status: 413 });
  const bytes = [...headers].reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  return bytes > MAX_HEADERS_BYTES ? new Response(null, { status: 431 }) : null;
}

/** @param {Request} request @returns {Promise<Response>} */
async function answer(request) {
  const refused = tooLarge(request);
  if (refused !== null) return refused;
  const url = new URL(request.url);
  const host = url.hostname.toLowerCase();
  const rule = frontRuleOf(host);
  if (rule !== undefined) return answerOf(rule);
  const route = find(table, host, url.pathname + url.search);
  const visit = asWorkersSeeIt(request);
  if (!route?.service) return origin(visit);
  const { account, script, service } = route;
  const known = /** @type {FrontAccount} */ (world.accounts[account]);
  const day = dayOf(account);
  const counter = counterOf(account, script);
  // platform docs: above the daily limit, a route fails closed with error 1027. If the route is configured to fail
  // open, requests go to the origin.
  if (day.requests + (known.base[today()] ?? 0) >= known.max_requests) {
    return route.fail_open ? origin(visit) : refusal(429, 1027, "This website has been temporarily rate limited");
  }
  day.requests += 1;
  counter.requests += 1;
  try {
    // When a visitor disconnects, the script's request ends, including everything it was waiting for.
    return await env[service].fetch(visit, { signal: request.signal });
  } catch (error) {
    counter.errors += 1;
    console.error(`script ${script}: ${/** @type {Error | undefined} */ (error)?.stack ?? error}`);
    return refusal(500, 1101, "Worker threw exception");
  }
}

/** @type {ExportedHandler} */
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

/**
 * Asks the emulator's Python process for a fault that applies to this call.
 * @param {{side: string, account: string, script: string, method: string, target: string}} call
 * @returns {Promise<Fault | null>}
 */
async function fault(call) {
  const init = { method: "POST", body: JSON.stringify(call) };
  const response = await env.EMULATOR.fetch("http://emulator/_emulator/fault", init);
  return await response.json();
}

const LOST = "Network connection lost.";
const lost = () => Response.json({ success: false, error: LOST });
/** Returns a response that signals to entry.js that the platform ends the invocation here. */
const ended = () => Response.json({}, { headers: { "x-emulator-ended": "1" } });
const PRIVATE_NAME = /^[^.]*$|\.(localhost|local|internal|lan|home\.arpa|invalid|test)$/;

/**
 * Returns the edge's error page for a host that no worker can fetch, or null (platform docs:
 * workers/platform/known-issues, errors 1003 and 1016).
 * @param {string} host
 */
function unreachable(host) {
  if (host.startsWith("[") || /^[\d.]+$/.test(host)) return refusal(403, 1003, "Direct IP access not allowed");
  return PRIVATE_NAME.test(host) ? refusal(530, 1016, "Origin DNS error") : null;
}

/** Handles a script's fetch() (platform docs: a fetch to the script's own zone goes to the origin). */
export class Egress extends WorkerEntrypoint {
  /** @param {Request} request */
  async fetch(request) {
    const { account, script } = /** @type {ScriptProps} */ (this.ctx.props);
    counterOf(account, script).subrequests += 1;
    const host = new URL(request.url).hostname.toLowerCase();
    const found = zoneOf(host);
    if (found !== undefined) return found[1].account === account ? origin(request) : answer(request);
    const nowhere = world.local_egress ? null : unreachable(host);
    if (nowhere !== null) return nowhere;
    const injected = await fault({ side: "egress", account, script, method: request.method, target: request.url });
    if (injected?.kind === "egress_drop_before") throw new Error(LOST);
    if (injected?.kind === "egress_status") return new Response(injected.body ?? "", { status: injected.status });
    const response = await env.NET.fetch(request);
    if (injected?.kind !== "egress_drop_after") return response;
    await response.arrayBuffer();
    throw new Error(LOST);
  }
}

/** Handles a script's `caches`, which are stored outside this process so that they survive uploads. */
export class CacheApi extends WorkerEntrypoint {
  /** @param {Request} request */
  async fetch(request) {
    const name = request.headers.get("cf-cache-namespace") ?? "";
    return askCache(name, request.method, request.url, await request.arrayBuffer());
  }
}

// platform docs (d1/observability/debug-d1): a database executes one statement at a time and limits its queue.
const MAX_QUEUED = 400;
const OVERLOADED = "D1 DB is overloaded. Too many requests queued.";
/** @type {Map<string, number>} statements by database */
const queued = new Map();

/** Handles a D1 binding. */
export class D1Binding extends WorkerEntrypoint {
  /** @param {Request} request */
  async fetch(request) {
    const { account, script, database } = /** @type {ScriptProps & {database: string}} */ (this.ctx.props);
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/dump") return Response.json({ success: false, error: "dump is not supported" });
    const call = { side: "d1", account, script, method: "POST", target: database };
    const found = world.watch_d1 ? await fault(call) : null;
    if (found?.kind === "d1_drop_before") return lost();
    if (found?.kind === "d1_end_before") return ended();
    if (found?.kind === "d1_slow") await scheduler.wait(1000 * found.delay_s);
    if (found?.kind === "d1_silent") {
      while (world.watch_d1) await scheduler.wait(20);
      return lost();
    }
    const waiting = queued.get(database) ?? 0;
    if (waiting >= MAX_QUEUED) return Response.json({ success: false, error: OVERLOADED });
    queued.set(database, waiting + 1);
    const format = searchParams.get("resultsFormat") ?? "ARRAY_OF_OBJECTS";
    const response = await this.#send(database, format, request).finally(() =>
      queued.set(database, (queued.get(database) ?? 1) - 1),
    );
    if (found?.kind === "d1_drop_after") return lost();
    return found?.kind === "d1_end_after" ? ended() : response;
  }

  /** @param {string} database @param {string} format @param {Request} request */
  async #send(database, format, request) {
    const url = `http://d1/query?db=${database}&resultsFormat=${format}`;
    const response = await env.DATABASES.fetch(url, { method: "POST", body: await request.arrayBuffer() });
    return new Response(await response.arrayBuffer(), response);
  }
}

/** @param {string} service @returns {Fetcher} */
const controlOf = (service) => env[`${service}_control`];

/** @param {string} path @param {object} body @returns {Promise<Record<string, any>>} responses by service */
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

/** Waits until no script is running: no open request, no cron, no waitUntil work. */
async function settled() {
  for (;;) {
    const scripts = await eachScript("/settled", {});
    if (open === 0 && Object.values(scripts).every((script) => script.running === 0)) return scripts;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

/** @param {string} account */
const mostQueries = (account) => world.accounts[account]?.max_d1_queries;

/** @type {Map<string, string>} settings last sent to each script, by service */
const settings = new Map();

/** @type {Record<string, (order: any) => Promise<unknown>>} */
const commands = {
  async "/update"(change) {
    Object.assign(world, change);
    if (change.zones) table = compile(world.zones);
    await Promise.all(
      Object.entries(world.services).map(async ([service, { account }]) => {
        const body = JSON.stringify({ offset_ms: world.offset_ms, max_d1_queries: mostQueries(account) });
        if (settings.get(service) === body) return;
        await controlOf(service).fetch("http://script/settings", { method: "POST", body });
        settings.set(service, body);
      }),
    );
    return {};
  },
  async "/counts"() {
    return { counts, scripts: await eachScript("/state", {}) };
  },
  async "/settled"() {
    return { counts, scripts: await settled() };
  },
  async "/crons"({ events }) {
    return await Promise.all(
      events.map(async (/** @type {{service: string}} */ { service, ...event }) => {
        const init = { method: "POST", body: JSON.stringify(event) };
        return await (await controlOf(service).fetch("http://script/cron", init)).json();
      }),
    );
  },
};

/** Drains this process: the response starts immediately and ends when all work is done. @param {number} hold_ms */
function drain(hold_ms) {
  const { readable, writable } = new TransformStream();
  const writer = writable.getWriter();
  const encoder = new TextEncoder();
  const write = async () => {
    await writer.write(encoder.encode(" "));
    await new Promise((resolve) => setTimeout(resolve, hold_ms)); // read connections already accepted
    await writer.write(encoder.encode(JSON.stringify({ counts, scripts: await settled() })));
    await writer.close();
  };
  return { response: new Response(readable), done: write() };
}

export class Control extends WorkerEntrypoint {
  /** @param {Request} request */
  async fetch(request) {
    const body = /** @type {any} */ (await request.json());
    const { pathname } = new URL(request.url);
    if (pathname === "/drain") {
      const { response, done } = drain(body.hold_ms);
      this.ctx.waitUntil(done);
      return response;
    }
    const command = commands[pathname];
    if (command === undefined) return new Response(null, { status: 404 });
    return Response.json(await command(body));
  }
}
