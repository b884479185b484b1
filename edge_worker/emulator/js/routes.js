// Which route a request belongs to. Platform docs (workers/configuration/routing/routes): the most specific pattern
// wins; `*` stands only at the host's start and the path's end; a pattern without it matches no query string; a route
// without a script takes its requests from less specific ones (bypass).

/** "*.example.com/go*" → {any, host, path, prefix}; a scheme is not looked at, as this edge has only http. */
function parse(pattern) {
  const bare = pattern.replace(/^https?:\/\//, "");
  const slash = bare.indexOf("/");
  const host = (slash < 0 ? bare : bare.slice(0, slash)).toLowerCase();
  const path = slash < 0 ? "/" : bare.slice(slash);
  const prefix = path.endsWith("*");
  const any = host.startsWith("*");
  return { any, host: any ? host.slice(1) : host, path: prefix ? path.slice(0, -1) : path, prefix };
}

const order = (a, b) =>
  a.any - b.any || b.host.length - a.host.length || b.path.length - a.path.length || a.prefix - b.prefix;

/** zones = {name: {account, active, proxied: [host or "*.name"], routes: [{pattern, …}]}} → what find() takes. */
export function compile(zones) {
  const exact = new Map();
  const wild = [];
  for (const zone of Object.values(zones)) {
    if (!zone.active) continue;
    for (const route of zone.routes) {
      const parsed = { ...route, account: zone.account, ...parse(route.pattern) };
      if (parsed.any) wild.push(parsed);
      else if (exact.has(parsed.host)) exact.get(parsed.host).push(parsed);
      else exact.set(parsed.host, [parsed]);
    }
  }
  for (const list of [...exact.values(), wild]) list.sort(order);
  return { exact, wild, zones };
}

const matches = (route, target) => (route.prefix ? target.startsWith(route.path) : target === route.path);

/** Whether the host's traffic passes the edge: its DNS record, or the closest wildcard's, is proxied. */
function proxied(zone, host) {
  if (host in zone.hosts) return zone.hosts[host];
  for (let rest = host; rest.includes("."); rest = rest.slice(rest.indexOf(".") + 1)) {
    const wildcard = `*.${rest.slice(rest.indexOf(".") + 1)}`;
    if (wildcard in zone.hosts) return zone.hosts[wildcard];
  }
  return false;
}

/** The route for host and path (with its query), or undefined. */
export function find({ exact, wild, zones }, host, target) {
  const hit =
    exact.get(host)?.find((route) => matches(route, target)) ??
    wild.find((route) => host.endsWith(route.host) && matches(route, target));
  if (hit === undefined) return undefined;
  return proxied(zones[hit.zone], host) ? hit : undefined;
}
