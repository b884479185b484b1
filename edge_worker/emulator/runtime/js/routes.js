// Finds the route of a request. Platform docs: workers/configuration/routing/routes. The most specific pattern wins.
// `*` is allowed only at the start of the host and the end of the path. A pattern without `*` matches no query string.
// A route without a script excludes its requests from less specific routes (bypass).

/**
 * @typedef {{any: boolean, host: string, path: string, prefix: boolean}} Pattern
 * @typedef {Route & Pattern} ParsedRoute
 * @typedef {{exact: Map<string, ParsedRoute[]>, wild: ParsedRoute[], zones: Record<string, Zone>}} Table
 */

/**
 * Parses "*.example.com/go*" into {any, host, path, prefix}. The scheme is ignored because this edge has only http.
 * @param {string} pattern @returns {Pattern}
 */
function parse(pattern) {
  const bare = pattern.replace(/^https?:\/\//, "");
  const slash = bare.indexOf("/");
  const host = (slash < 0 ? bare : bare.slice(0, slash)).toLowerCase();
  const path = slash < 0 ? "/" : bare.slice(slash);
  const prefix = path.endsWith("*");
  const any = host.startsWith("*");
  return { any, host: any ? host.slice(1) : host, path: prefix ? path.slice(0, -1) : path, prefix };
}

/** @param {Pattern} a @param {Pattern} b */
const order = (a, b) =>
  Number(a.any) - Number(b.any) ||
  b.host.length - a.host.length ||
  b.path.length - a.path.length ||
  Number(a.prefix) - Number(b.prefix);

/** @param {Record<string, Zone>} zones by name @returns {Table} argument of find() */
export function compile(zones) {
  /** @type {Map<string, ParsedRoute[]>} */
  const exact = new Map();
  /** @type {ParsedRoute[]} */
  const wild = [];
  for (const zone of Object.values(zones)) {
    if (!zone.active) continue;
    for (const route of zone.routes) {
      const parsed = { ...route, account: zone.account, ...parse(route.pattern) };
      const known = exact.get(parsed.host);
      if (parsed.any) wild.push(parsed);
      else if (known !== undefined) known.push(parsed);
      else exact.set(parsed.host, [parsed]);
    }
  }
  for (const list of [...exact.values(), wild]) list.sort(order);
  return { exact, wild, zones };
}

/** @param {Pattern} route @param {string} target */
const matches = (route, target) => (route.prefix ? target.startsWith(route.path) : target === route.path);

/**
 * Returns the backend of a host, as set by its DNS record or the closest wildcard record. Returns "past" if requests
 * bypass the edge because the record is not proxied or does not exist.
 * @param {Zone | undefined} zone @param {string} host @returns {"past" | "origin" | "nothing"}
 */
export function behind(zone, host) {
  if (zone === undefined) return "past";
  const own = zone.hosts[host];
  if (own !== undefined) return own;
  for (let rest = host; rest.includes("."); rest = rest.slice(rest.indexOf(".") + 1)) {
    const wildcard = zone.hosts[`*.${rest.slice(rest.indexOf(".") + 1)}`];
    if (wildcard !== undefined) return wildcard;
  }
  return "past";
}

/**
 * Returns the route for host and path (with its query), or undefined.
 * @param {Table} table @param {string} host @param {string} target
 */
export function find({ exact, wild, zones }, host, target) {
  const hit =
    exact.get(host)?.find((route) => matches(route, target)) ??
    wild.find((route) => host.endsWith(route.host) && matches(route, target));
  if (hit === undefined) return undefined;
  return behind(zones[hit.zone], host) === "past" ? undefined : hit;
}
