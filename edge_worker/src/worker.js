/** svc-edge: answers a request first, and counts it afterwards. */

import { readAddress } from "./address.js";
import { UA_CHARS, agentOf } from "./agents.js";
import { isExcluded, parseBeacon, readBody } from "./beacon.js";
import { botReason } from "./bots.js";
import { EventBuffer, record, recordDrop } from "./buffer.js";
import { Config, ensure, findLink } from "./config.js";
import { copyWhenDue } from "./copies.js";
import { tick } from "./cron.js";
import { CODE, targetOf } from "./links.js";
import { snippetCode } from "./snippet.js";
import { QR, hasMarker, namedSource, sourceKey } from "./sources.js";
import { cut } from "./text.js";
import { hourOf } from "./time.js";

/**
 * @typedef {import("./push.js").PushEnv & {DB: D1Database}} Env
 * @typedef {import("./address.js").Address} Address
 */

// What an isolate knows; it lives as long as the isolate and is shared by its requests.
const config = new Config();
const buffer = new EventBuffer();

const NO_STORE = { "cache-control": "no-store" };

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

/** @param {ExecutionContext} ctx @param {Address} url @param {import("./config.js").Site | null} site */
function keepCopy(ctx, url, site) {
  const copied = copyWhenDue(config, url, site, Date.now());
  if (copied !== undefined) ctx.waitUntil(copied);
}

/**
 * @param {Request} request @param {Env} env @param {ExecutionContext} ctx @param {Address} url
 * @returns {Response | Promise<Response>} at once when the link is known: a promise costs time
 */
function answerLink(request, env, ctx, url) {
  const { method } = request;
  const code = url.pathname.slice(1);
  if (!CODE.test(code)) return new Response(null, { status: 404, headers: NO_STORE });
  if (method !== "GET" && method !== "HEAD") {
    return new Response(null, { status: 405, headers: { allow: "GET, HEAD", ...NO_STORE } });
  }
  const known = config.link(code);
  if (known !== undefined) return redirect(request, env, ctx, url, known);
  return findLink(config, env.DB, code, Date.now()).then((link) => {
    if (link === "busy") return new Response(null, { status: 503, headers: { "retry-after": "2", ...NO_STORE } });
    if (link === undefined) return new Response(null, { status: 404, headers: NO_STORE });
    return redirect(request, env, ctx, url, link);
  });
}

/**
 * @param {Request} request @param {Env} env @param {ExecutionContext} ctx @param {Address} url
 * @param {import("./links.js").Link} link
 */
function redirect(request, env, ctx, url, link) {
  const { headers } = request;
  const ua = uaOf(headers);
  const country = countryOf(request);
  const location = targetOf(link, country, ua);
  const source = () =>
    hasMarker(url.search) ? QR : sourceKey(headers.get("referer") ?? "", namedSource(url.search), url.hostname);
  count(env, ctx, request, { target: link.target, page: "", driven: false, ua, country, source });
  keepCopy(ctx, url, null);
  return new Response(null, { status: 302, headers: { location, "cache-control": "no-store" } });
}

/**
 * @param {Request} request @param {Env} env @param {ExecutionContext} ctx
 * @param {Address} url @param {import("./config.js").Site} site
 */
async function answerBeacon(request, env, ctx, url, site) {
  if (request.method === "OPTIONS") return new Response(null, { status: 204, headers: { allow: "POST, OPTIONS" } });
  if (request.method !== "POST") return new Response(null, { status: 404, headers: NO_STORE });
  const { headers } = request;
  const body = isForeign(request, url) ? null : readBody(request);
  const beacon = body === null ? null : parseBeacon(await body);
  if (beacon === null) drop(env, ctx, "invalid");
  else if (!isExcluded(beacon.page, site.excluded_paths ?? [])) {
    const { page, referrer, named, driven } = beacon;
    const ua = uaOf(headers);
    const source = () => sourceKey(referrer, named, url.hostname);
    count(env, ctx, request, { target: site.target, page, driven, ua, country: countryOf(request), source });
  }
  keepCopy(ctx, url, site);
  return new Response(null, { status: 204 });
}

/** @param {Request} request @param {Address} url @returns {boolean} sent by a page of another host */
function isForeign({ headers }, url) {
  const origin = headers.get("origin");
  if (origin === null || origin === "null") return headers.get("sec-fetch-site") === "cross-site";
  return readAddress(`${origin}/`).hostname !== url.hostname;
}

/** @param {Request} request @param {string} path */
function answerScript(request, path) {
  if (request.method !== "GET" && request.method !== "HEAD") return new Response(null, { status: 404 });
  const headers = { "content-type": "text/javascript; charset=utf-8", "cache-control": "public, max-age=86400" };
  return new Response(request.method === "HEAD" ? null : snippetCode(path), { headers });
}

/**
 * The site whose path the request names, if any: matches the site's path itself, its script, or anything below (which
 * is a 404).
 * @param {Address} url @param {number} now
 * @returns {{site: import("./config.js").Site, path: string, rest: string} | null}
 */
function findSite({ hostname, pathname }, now) {
  if (!config.hasSites(hostname)) return null;
  // All of the path first: a beacon's. A site's path has one or two segments.
  let end = pathname.length;
  let slash = 0;
  for (let tried = 0; tried < 3 && end > 1; tried += 1) {
    const path = pathname.slice(0, end);
    const site = config.site(hostname + path);
    if (site !== undefined && (site.until === undefined || now < site.until)) {
      return { site, path, rest: pathname.slice(end) };
    }
    slash = pathname.indexOf("/", slash + 1);
    end = slash;
  }
  return null;
}

/**
 * @param {Request} request @param {Env} env @param {ExecutionContext} ctx @param {Address} url @param {number} now
 * @returns {Response | Promise<Response>}
 */
function answer(request, env, ctx, url, now) {
  const found = findSite(url, now);
  if (found !== null) {
    if (found.rest === "") return answerBeacon(request, env, ctx, url, found.site);
    if (found.rest === `/${found.site.script}.js`) return answerScript(request, found.path);
    return new Response(null, { status: 404, headers: NO_STORE });
  }
  if (url.hostname === config.host) return answerLink(request, env, ctx, url);
  // A new isolate without any configuration: a link's visitor is asked to retry; anything else goes to the site.
  if (config.readAt === 0 && CODE.test(url.pathname.slice(1))) {
    return new Response(null, { status: 503, headers: { "retry-after": "5", ...NO_STORE } });
  }
  return fetch(request);
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
    await tick(env.DB, env, Math.max(Date.now(), event.scheduledTime));
  },
};
