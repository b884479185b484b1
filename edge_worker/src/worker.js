/** svc-edge: answers a request first, and counts it afterwards. */

import { readAddress } from "./address.js";
import { UA_CHARS, agentOf } from "./agents.js";
import { isExcluded, parseBeacon, readBody } from "./beacon.js";
import { botReason } from "./bots.js";
import { EventBuffer, record, recordDrop } from "./buffer.js";
import { Config } from "./config.js";
import { copyWhenDue, dropCopyOnce } from "./copies.js";
import { isOverdue, tick } from "./cron.js";
import { ensure } from "./freshness.js";
import { keep } from "./isolate.js";
import { CODE, targetOf } from "./links.js";
import { findSite } from "./sites.js";
import { snippetCode } from "./snippet.js";
import { clickSource, sourceKey } from "./sources.js";
import { cut } from "./text.js";
import { hourOf } from "./time.js";

/**
 * @typedef {import("./push.js").PushEnv & {DB: D1Database}} Env
 * @typedef {import("./address.js").Address} Address
 */

// What an isolate knows; it lives as long as the isolate and is shared by its requests.
const config = keep(new Config());
const buffer = keep(new EventBuffer());
const overdue = keep({ tickedAt: 0 }); // epoch ms of the last run of the cron's work that one of its requests made

const NO_STORE = { "cache-control": "no-store" };

const notFound = () => new Response(null, { status: 404, headers: NO_STORE });

/** @param {Request} request @returns {string} ISO code, "T1" for Tor, "XX" when the platform does not know */
function countryOf(request) {
  const country = /** @type {{country?: unknown} | undefined} */ (request.cf)?.country;
  return typeof country === "string" && /^[A-Z][A-Z0-9]$/.test(country) ? country : "XX";
}

/** Most characters of a header that names a purpose. */
const PURPOSE_CHARS = 64;

/** @param {Headers} headers @returns {string} what browsers say of a fetch that nobody has seen yet, "" for nothing */
function purposeOf(headers) {
  const purpose =
    headers.get("sec-purpose") ?? headers.get("purpose") ?? headers.get("x-purpose") ?? headers.get("x-moz") ?? "";
  return purpose.slice(0, PURPOSE_CHARS);
}

/** @param {Headers} headers @returns {string} the user agent, cut before anything is made of it */
const uaOf = (headers) => cut(headers.get("user-agent") ?? "", UA_CHARS);

/**
 * Counts one request: after its answer is given.
 * @param {Env} env @param {ExecutionContext} ctx @param {Request} request
 * @param {{target: string, page: string, driven: boolean, ua: string, country: string, source: () => string}} seen
 */
function count(env, ctx, request, { target, page, driven, ua, country, source }) {
  const { headers, method } = request;
  const { reason: byAgent, device, browser, os } = agentOf(ua);
  // A beacon is sent by a page that is shown: only a link can be fetched ahead.
  const purpose = method === "GET" ? purposeOf(headers) : "";
  const reason = botReason({ method, purpose, driven, byAgent });
  const event = {
    target,
    hour: hourOf(Date.now()),
    reason,
    page,
    source: reason === "" ? source() : "",
    country,
    device,
    browser,
    os,
  };
  const visitor = { ip: headers.get("cf-connecting-ip") ?? "", ua };
  const written = record(buffer, event, visitor, { db: env.DB, level: config.level });
  if (written !== undefined) ctx.waitUntil(written);
}

/** @param {Env} env @param {ExecutionContext} ctx @param {import("./state.js").DropReason} reason */
function drop(env, ctx, reason) {
  const written = recordDrop(buffer, reason, { db: env.DB, level: config.level });
  if (written !== undefined) ctx.waitUntil(written);
}

/**
 * @param {Request} request @param {Env} env @param {ExecutionContext} ctx @param {Address} url
 */
function answerLink(request, env, ctx, url) {
  const { method } = request;
  const code = url.pathname.slice(1);
  if (!CODE.test(code)) return notFound();
  if (method !== "GET" && method !== "HEAD") {
    return new Response(null, { status: 405, headers: { allow: "GET, HEAD", ...NO_STORE } });
  }
  const link = config.link(code);
  if (link !== undefined) return redirect(request, env, ctx, url, code, link);
  if (!config.missing.has(code)) return comeAgain();
  dropCopyOnce(config, ctx, url.hostname, code);
  return notFound();
}

/** What is there cannot be known now: the database does not answer. */
const comeAgain = () => new Response(null, { status: 503, headers: { "retry-after": "5", ...NO_STORE } });

/**
 * @param {Request} request @param {Env} env @param {ExecutionContext} ctx @param {Address} url
 * @param {string} code @param {import("./links.js").Link} link
 */
function redirect(request, env, ctx, url, code, link) {
  const { headers } = request;
  const ua = uaOf(headers);
  const country = countryOf(request);
  const location = targetOf(link, country, ua);
  const source = () => clickSource(headers.get("referer") ?? "", url.search, url.hostname);
  count(env, ctx, request, { target: link.target, page: "", driven: false, ua, country, source });
  copyWhenDue(config, ctx, url.hostname, code, Date.now());
  return new Response(null, { status: 302, headers: { location, ...NO_STORE } });
}

/**
 * @param {Request} request @param {Env} env @param {ExecutionContext} ctx
 * @param {Address} url @param {import("./sites.js").Site} site
 */
async function answerBeacon(request, env, ctx, url, site) {
  if (request.method === "OPTIONS") return new Response(null, { status: 204, headers: { allow: "POST, OPTIONS" } });
  if (request.method !== "POST") return notFound();
  const { headers } = request;
  const body = isForeign(request, url) ? null : readBody(request);
  const beacon = body === null ? null : parseBeacon(await body);
  if (beacon === null) drop(env, ctx, "invalid");
  else if (!(site.respect_gpc && asksForPrivacy(headers)) && !isExcluded(beacon.page, site.excluded_paths ?? [])) {
    const { page, referrer, named, driven } = beacon;
    const ua = uaOf(headers);
    const source = () => sourceKey(referrer, named, url.hostname);
    count(env, ctx, request, { target: site.target, page, driven, ua, country: countryOf(request), source });
  }
  copyWhenDue(config, ctx, url.hostname, "", Date.now());
  return new Response(null, { status: 204 });
}

/** @param {Headers} headers @returns {boolean} the browser says that its user wants not to be counted */
const asksForPrivacy = (headers) => headers.get("sec-gpc") === "1" || headers.get("dnt") === "1";

/** @param {Request} request @param {Address} url @returns {boolean} sent by a page of another host */
function isForeign({ headers }, url) {
  const origin = headers.get("origin");
  if (origin === null || origin === "null") return headers.get("sec-fetch-site") === "cross-site";
  return readAddress(`${origin}/`).hostname !== url.hostname;
}

/** @param {Request} request @param {string} path */
function answerScript(request, path) {
  if (request.method !== "GET" && request.method !== "HEAD") return notFound();
  const headers = { "content-type": "text/javascript; charset=utf-8", "cache-control": "public, max-age=86400" };
  return new Response(request.method === "HEAD" ? null : snippetCode(path), { headers });
}

/**
 * @param {Request} request @param {Env} env @param {ExecutionContext} ctx @param {Address} url @param {number} now
 * @returns {Response | Promise<Response>}
 */
function answer(request, env, ctx, url, now) {
  if (isOverdue(config, overdue.tickedAt, now)) ctx.waitUntil(runOverdue(env, now));
  const found = findSite(config, url, now);
  if (found !== null) {
    if (found.rest === "") return answerBeacon(request, env, ctx, url, found.site);
    if (found.rest === `/${found.site.script}.js`) return answerScript(request, found.path);
    return notFound();
  }
  if (url.hostname === config.host) return answerLink(request, env, ctx, url);
  // Nothing is known of this host: a link's visitor is asked to retry; anything else goes to the site.
  if (config.sitesOf(url.hostname) === undefined && CODE.test(url.pathname.slice(1))) return comeAgain();
  return fetch(request);
}

/** What no cron has run for long, after the answer. @param {Env} env @param {number} now */
async function runOverdue(env, now) {
  overdue.tickedAt = now;
  await scheduler.wait(1);
  await tick(env.DB, env, now).catch((error) => console.warn(`overdue cron: ${String(error)}`));
}

/** @type {ExportedHandler<Env>} */
export default {
  fetch(request, env, ctx) {
    const now = Date.now();
    const url = readAddress(request.url);
    const wait = ensure(config, env.DB, ctx, url, now);
    if (wait === undefined) return answer(request, env, ctx, url, now);
    return wait.then(() => answer(request, env, ctx, url, now));
  },

  async scheduled(event, env) {
    // Not as of a time before the scheduled one, which this machine's clock may be behind.
    await tick(env.DB, env, Math.max(Date.now(), event.scheduledTime), (ms) => scheduler.wait(ms));
  },
};
