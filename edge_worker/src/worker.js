/** The Worker svc-edge. It responds to each request without waiting for the request to be stored. */

import { readAddress } from "./address.js";
import { UA_CHARS, agentOf } from "./agents.js";
import { PAGE_CHARS, isExcluded, parseBeacon, readBody } from "./beacon.js";
import { botReason } from "./bots.js";
import { EventBuffer, record, recordDrop } from "./buffer.js";
import { Config } from "./config.js";
import { copyWhenDue, dropCopyOnce } from "./copies.js";
import { isOverdue, tick } from "./cron.js";
import { isVisitorExcluded } from "./exclusions.js";
import { ensure } from "./freshness.js";
import { keep } from "./isolate.js";
import { answerOther, answerUnknown, redirectTo } from "./link_host.js";
import { outsideOf } from "./link_period.js";
import { withQuery } from "./link_query.js";
import { bucketOf } from "./link_split.js";
import { CODE, servedKey, targetOf } from "./links.js";
import { OPT_OUT_PATH, answerOptOut, hasOptedOut } from "./opt_out.js";
import { findSite } from "./sites.js";
import { snippetCode } from "./snippet.js";
import { campaignOf, clickSource, namedSource, sourceKey } from "./sources.js";
import { cut } from "./text.js";
import { dayOf, hourOf } from "./time.js";

/**
 * @typedef {import("./push.js").PushEnv & {DB: D1Database}} Env
 * @typedef {import("./address.js").Address} Address
 */

// State that all requests of the isolate (a running instance of the Worker) share during the isolate's lifetime.
const config = keep(new Config());
const buffer = keep(new EventBuffer());
const overdue = keep({ tickedAt: 0 }); // epoch ms of the last cron run that a request of this isolate started

const NO_STORE = { "cache-control": "no-store" };

const notFound = () => new Response(null, { status: 404, headers: NO_STORE });

/** @param {Request} request @returns {string} ISO code, "T1" for Tor, "XX" if Cloudflare does not know the country */
function countryOf(request) {
  const country = /** @type {{country?: unknown} | undefined} */ (request.cf)?.country;
  return typeof country === "string" && /^[A-Z][A-Z0-9]$/.test(country) ? country : "XX";
}

/** A purpose header is truncated to this many characters. */
const PURPOSE_CHARS = 64;

/** @param {Headers} headers @returns {string} the browser's purpose header for a prefetch, or "" for none */
function purposeOf(headers) {
  const purpose =
    headers.get("sec-purpose") ?? headers.get("purpose") ?? headers.get("x-purpose") ?? headers.get("x-moz") ?? "";
  return purpose.slice(0, PURPOSE_CHARS);
}

/** @param {Headers} headers @returns {string} the user agent, truncated before it is processed */
const uaOf = (headers) => cut(headers.get("user-agent") ?? "", UA_CHARS);

/** @param {Headers} headers @returns {string} the visitor's IP address */
const addressOf = (headers) => headers.get("cf-connecting-ip") ?? "";

/**
 * Counts one request. Call this function when the response has been determined.
 * @param {Env} env @param {ExecutionContext} ctx @param {Request} request
 * @param {{target: string, page: string, driven: boolean, ua: string, country: string, search: string,
 *   source: () => string, served?: string, outside?: import("./link_period.js").Outside}} seen search: the query that
 *   can name a campaign
 */
function count(env, ctx, request, { target, page, driven, ua, country, search, source, served = "", outside }) {
  const { headers, method } = request;
  const { reason: byAgent, device, browser, os } = agentOf(ua);
  // Only links can be prefetched. A beacon comes from a page that the browser is already showing.
  const purpose = method === "GET" ? purposeOf(headers) : "";
  /** @type {import("./event_log.js").Event["reason"]} */
  const reason = botReason({ method, purpose, driven, byAgent }) || (outside ?? "");
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
    campaign: reason === "" ? campaignOf(search) : "",
    served,
  };
  const visitor = { ip: addressOf(headers), ua };
  const written = record(buffer, event, visitor, { db: env.DB, level: config.levelAt(Date.now()) });
  if (written !== undefined) ctx.waitUntil(written);
}

/** @param {Env} env @param {ExecutionContext} ctx @param {import("./state.js").DropReason} reason */
function drop(env, ctx, reason) {
  const written = recordDrop(buffer, reason, { db: env.DB, level: config.levelAt(Date.now()) });
  if (written !== undefined) ctx.waitUntil(written);
}

/**
 * @param {Request} request @param {Env} env @param {ExecutionContext} ctx @param {Address} url
 */
function answerLink(request, env, ctx, url) {
  const { method } = request;
  const code = url.pathname.slice(1);
  if (method !== "GET" && method !== "HEAD") {
    return new Response(null, { status: 405, headers: { allow: "GET, HEAD", ...NO_STORE } });
  }
  const fallbacks = config.linkHost ?? {};
  if (!CODE.test(code)) {
    copyWhenDue(config, ctx, url.hostname, "", Date.now());
    return answerOther(request, url.pathname, fallbacks);
  }
  const link = config.link(code);
  if (link !== undefined) return redirect(request, env, ctx, url, code, link, fallbacks);
  if (!config.missing.has(code)) return unavailable();
  dropCopyOnce(config, ctx, url.hostname, code);
  return answerUnknown(request, fallbacks);
}

/** The response if the link is not cached and the database is unavailable. */
const unavailable = () => new Response(null, { status: 503, headers: { "retry-after": "5", ...NO_STORE } });

/**
 * @param {Request} request @param {Env} env @param {ExecutionContext} ctx @param {Address} url
 * @param {string} code @param {import("./links.js").Link} link @param {import("./config_query.js").Fallbacks} fallbacks
 * @returns {Response}
 */
function redirect(request, env, ctx, url, code, link, fallbacks) {
  const { headers } = request;
  const { search } = url;
  const seen = { target: link.target, page: "", driven: false, ua: uaOf(headers), country: countryOf(request), search };
  const source = () => clickSource(headers.get("referer") ?? "", search, url.hostname);
  const now = Date.now();
  const outside = outsideOf(link, now);
  copyWhenDue(config, ctx, url.hostname, code, now);
  if (outside !== "") {
    count(env, ctx, request, { ...seen, source, outside });
    return link.after_url === undefined ? answerUnknown(request, fallbacks) : redirectTo(link.after_url);
  }
  const bucket = () => bucketOf(link.target, dayOf(now), addressOf(headers), seen.ua);
  const target = targetOf(link, { ...seen, headers, bucket });
  // All clicks on a link without rules and without a split have the same destination, so their destination is not
  // counted.
  const served = link.rules === undefined && link.split === undefined ? "" : servedKey(target);
  count(env, ctx, request, { ...seen, source, served });
  return redirectTo(link.forward_query ? withQuery(target, search) : target);
}

/**
 * @param {Request} request @param {Env} env @param {ExecutionContext} ctx
 * @param {Address} url @param {import("./sites.js").Site} site
 */
async function answerBeacon(request, env, ctx, url, site) {
  if (request.method === "OPTIONS") return new Response(null, { status: 204, headers: { allow: "POST, OPTIONS" } });
  if (request.method !== "POST") return notFound();
  const country = countryOf(request);
  // For an excluded visitor, the Worker does not read the body of the beacon and writes nothing.
  const excluded =
    (site.visitor_opt_out && hasOptedOut(request.headers)) ||
    (site.exclusions !== null && isVisitorExcluded(site.exclusions, request, country));
  if (!excluded) await countView(request, env, ctx, url, site, country);
  copyWhenDue(config, ctx, url.hostname, "", Date.now());
  return new Response(null, { status: 204 });
}

/**
 * @param {Request} request @param {Env} env @param {ExecutionContext} ctx
 * @param {Address} url @param {import("./sites.js").Site} site @param {string} country
 */
async function countView(request, env, ctx, url, site, country) {
  const { headers } = request;
  const body = isForeign(request, url) ? null : readBody(request);
  const beacon = body === null ? null : parseBeacon(await body);
  if (beacon === null) drop(env, ctx, "invalid");
  else if (!(site.respect_gpc && optsOut(headers)) && !isExcluded(beacon.path, site.excluded_paths ?? [])) {
    const { path, referrer, search, driven } = beacon;
    const page = path.slice(0, PAGE_CHARS);
    const ua = uaOf(headers);
    const source = () => sourceKey(referrer, namedSource(search), url.hostname);
    count(env, ctx, request, { target: site.target, page, driven, ua, country, search, source });
  }
}

/** @param {Headers} headers @returns {boolean} true if the browser asks not to count its user */
const optsOut = (headers) => headers.get("sec-gpc") === "1" || headers.get("dnt") === "1";

/** @param {Request} request @param {Address} url @returns {boolean} true if a page on another host sent it */
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
    if (found.rest === OPT_OUT_PATH && found.site.visitor_opt_out) return answerOptOut(request, url.search, found.path);
    return notFound();
  }
  if (url.hostname === config.host) return answerLink(request, env, ctx, url);
  // The host's configuration is unknown. If the path could be a link's code, respond with 503, so that the visitor
  // tries again. Other requests go to the site.
  if (config.sitesOf(url.hostname) === undefined && CODE.test(url.pathname.slice(1))) return unavailable();
  return fetch(request);
}

/** Runs an overdue cron job after the response. @param {Env} env @param {number} now */
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
    // This host's clock may be slow, so use at least the scheduled time of the run.
    await tick(env.DB, env, Math.max(Date.now(), event.scheduledTime), (ms) => scheduler.wait(ms));
  },
};
