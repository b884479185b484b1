// Backend of the Cache API. There is one cache per zone, data center and name (`caches.open`; "" is the zone's default
// cache, `caches.default`). Caches are in memory and survive uploads, as on the platform. workerd accesses them by
// HTTP: GET, PURGE, and PUT with a complete response as its body.
/**
 * @typedef {{status: number, headers: Headers, body: Uint8Array}} Parsed
 * @typedef {Parsed & {until: number}} Kept until: emulated epoch ms
 */

/** @type {Map<string, Map<string, Kept>>} */
const caches = new Map();
const decoder = new TextDecoder("latin1");

/** @param {ArrayBuffer} bytes @returns {Parsed} */
function parseResponse(bytes) {
  const text = decoder.decode(bytes);
  const end = text.indexOf("\r\n\r\n");
  const [start = "", ...lines] = text.slice(0, end).split("\r\n");
  const headers = new Headers();
  for (const line of lines) {
    const colon = line.indexOf(":");
    const name = line.slice(0, colon).toLowerCase();
    if (name !== "transfer-encoding") headers.append(name, line.slice(colon + 1).trim());
  }
  let body = new Uint8Array(bytes).slice(end + 4);
  if (/\r\ntransfer-encoding: *chunked/i.test(text.slice(0, end))) body = unchunked(body);
  return { status: Number(start.split(" ")[1]), headers, body };
}

/** @param {Uint8Array} bytes */
function unchunked(bytes) {
  /** @type {Uint8Array[]} */
  const parts = [];
  for (let at = 0; ;) {
    let line = at;
    while (bytes[line] !== 13) line += 1;
    const size = parseInt(decoder.decode(bytes.slice(at, line)), 16);
    if (size === 0) break;
    parts.push(bytes.slice(line + 2, line + 2 + size));
    at = line + 2 + size + 2;
  }
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/**
 * @param {Headers} headers @param {number} now epoch ms
 * @returns {number} ms for which a response can be cached, 0 if it cannot be cached
 */
function lifetimeMs(headers, now) {
  const control = headers.get("cache-control") ?? "";
  if (/no-store|private|no-cache/.test(control) || headers.has("set-cookie")) return 0;
  const age = /s-maxage=(\d+)/.exec(control) ?? /max-age=(\d+)/.exec(control);
  if (age) return Number(age[1]) * 1000;
  const expires = Date.parse(headers.get("expires") ?? "");
  return Number.isNaN(expires) ? 0 : Math.max(0, expires - now);
}

/**
 * Responds to one cache request.
 * @param {{cache: string, method: string, url: string}} call cache: its name @param {ArrayBuffer} body
 * @param {number} now emulated epoch ms
 */
export function answerCache({ cache: name, method, url }, body, now) {
  const key = url.replace(/^https?:/, ""); // the emulated edge supports plain HTTP only
  const cache = caches.get(name) ?? new Map();
  caches.set(name, cache);
  if (method === "PUT") {
    const response = parseResponse(body);
    const lifetime = lifetimeMs(response.headers, now);
    if (lifetime > 0) cache.set(key, { ...response, until: now + lifetime });
    return new Response(null, { status: 204 });
  }
  if (method === "PURGE") return new Response(null, { status: cache.delete(key) ? 200 : 404 });
  const kept = cache.get(key);
  if (kept === undefined || kept.until <= now) {
    cache.delete(key);
    return new Response(null, { status: 504, headers: { "cf-cache-status": "MISS" } });
  }
  const headers = new Headers(kept.headers);
  headers.set("cf-cache-status", "HIT");
  return new Response(kept.body, { status: kept.status, headers });
}
