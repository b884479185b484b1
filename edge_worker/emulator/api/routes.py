"""Worker routes of a zone. Cloudflare docs: workers/configuration/routing/routes."""

from __future__ import annotations

import re
from typing import Any

from quart import Blueprint, Response

from edge_worker.emulator.api.access import for_account, for_zone, identify
from edge_worker.emulator.api.permissions import holds_all_zones
from edge_worker.emulator.api.wire import ApiError, body_json, body_object, envelope, invalid, shuffled
from edge_worker.emulator.platform import platform
from edge_worker.emulator.state import Account, Route, Zone, new_hex

routes = Blueprint("routes", __name__)
READ = ("Workers Routes Read", "Workers Routes Write")
WRITE = "Workers Routes Write"
MAX_ROUTES = 1000
# `*` is allowed only at the start of the host and at the end of the path. A pattern has no query.
PATTERN = re.compile(r"(?:https?://)?(\*?[a-zA-Z0-9.-]+)(/[^*?]*\*?)?")


def shown(route: Route) -> dict[str, Any]:
    """Return a route as the API shows it."""
    hidden = {"request_limit_fail_open"} if platform().ignores_fail_open else set()
    return route.model_dump(exclude=hidden)


def host_of(pattern: str, zone: Zone) -> str:
    """Return the host of a pattern. Raises ApiError 10022 if the pattern is malformed or belongs to another zone."""
    found = PATTERN.fullmatch(pattern)
    host = found[1].lower().lstrip("*").lstrip(".") if found else ""
    if host != zone.name and not host.endswith(f".{zone.name}"):
        raise invalid(f"Invalid route pattern {pattern!r} for zone {zone.name}", 10022)
    return host


def _same(pattern: str, other: str) -> bool:
    def form(text: str) -> str:
        bare = text.removeprefix("https://").removeprefix("http://")
        host, slash, path = bare.partition("/")
        return host.lower() + (slash + path if slash else "/")

    return form(pattern) == form(other)


def _read(account: Account, zone: Zone, body: dict[str, Any], own: Route | None) -> Route:
    if not zone.is_active and platform().inactive_zone == "refuses":
        raise ApiError(400, 10022, f"Zone {zone.name} is not active")
    if not zone.is_active and platform().inactive_zone == "forbids":
        raise ApiError(403, 10000, "Authentication error")
    pattern, script = body.get("pattern"), body.get("script")
    if not isinstance(pattern, str):
        raise invalid("Invalid route pattern", 10022)
    host_of(pattern, zone)
    if any(other is not own and _same(other.pattern, pattern) for other in zone.routes):
        raise ApiError(409, 10020, "A route with the same pattern already exists.")
    if script is not None and script not in account.scripts:
        raise ApiError(400, 10019, "workers.api.error.script_not_found: the route names a script that does not exist")
    # PUT replaces the whole route, so it resets missing fields.
    fail_open = bool(body.get("request_limit_fail_open", False)) and not platform().ignores_fail_open
    return Route(id=own.id if own else new_hex(), pattern=pattern, script=script, request_limit_fail_open=fail_open)


def _route_of(zone: Zone, route_id: str) -> Route:
    for route in zone.routes:
        if route.id == route_id:
            return route
    raise ApiError(404, 10009, "workers.api.error.route_not_found")


@routes.get("/zones/<zone_id>/workers/routes")
@for_zone(*READ)
async def listing(account: Account, zone: Zone) -> Response:  # noqa: ARG001 (every zone handler gets both)
    """List the zone's routes."""
    return envelope([shown(route) for route in shuffled(zone.routes, lambda route: route.id)])


@routes.post("/zones/<zone_id>/workers/routes")
@for_zone(WRITE)
async def create(account: Account, zone: Zone) -> Response:
    """Create a route."""
    if len(zone.routes) >= MAX_ROUTES:
        raise invalid("The zone has too many routes", 10073)
    route = _read(account, zone, await body_object(), None)
    zone.routes.append(route)
    await platform().runtime.update()
    return envelope(shown(route))


@routes.get("/zones/<zone_id>/workers/routes/<route_id>")
@for_zone(*READ)
async def get(account: Account, zone: Zone, route_id: str) -> Response:  # noqa: ARG001
    """Return a route."""
    return envelope(shown(_route_of(zone, route_id)))


@routes.put("/zones/<zone_id>/workers/routes/<route_id>")
@for_zone(WRITE)
async def replace(account: Account, zone: Zone, route_id: str) -> Response:
    """Replace a route's pattern and script."""
    own = _route_of(zone, route_id)
    route = _read(account, zone, await body_object(), own)
    zone.routes[zone.routes.index(own)] = route
    await platform().runtime.update()
    return envelope(shown(route))


@routes.delete("/zones/<zone_id>/workers/routes/<route_id>")
@for_zone(WRITE)
async def delete(account: Account, zone: Zone, route_id: str) -> Response:  # noqa: ARG001
    """Delete a route."""
    zone.routes.remove(_route_of(zone, route_id))
    await platform().runtime.update()
    return envelope({"id": route_id})


def _zone_of(account: Account, item: dict[str, Any]) -> Zone:
    """Return the zone of an entry in the bulk call. The entry names the zone by id or name, or only in its pattern."""
    for zone in account.zones.values():
        if zone.id == item.get("zone_id") or zone.name == item.get("zone_name"):
            return zone
    host = str(item.get("pattern", "")).split("/")[0].lstrip("*.").lower()
    inside = [z for z in account.zones.values() if host == z.name or host.endswith(f".{z.name}")]
    if not inside:
        raise invalid(f"no zone for pattern {item.get('pattern')!r}", 10022)
    return max(inside, key=lambda zone: len(zone.name))


@routes.put("/accounts/<account_id>/workers/scripts/<name>/routes")
@for_account("Workers Scripts Write")
async def replace_all(account: Account, name: str) -> Response:
    """Replace all routes of a script. This requires the permission to write routes in all zones; without it, wrangler
    changes the routes one by one.
    """
    if not holds_all_zones(identify()[1], WRITE, account.id):
        raise ApiError(403, 10000, "Authentication error")
    if name not in account.scripts:
        raise ApiError(404, 10007, "This Worker does not exist on your account.")
    items = await body_json()
    if not isinstance(items, list):
        raise invalid("an array of routes is expected", 10026)
    before = {zone.id: list(zone.routes) for zone in account.zones.values()}
    made = []
    try:
        for zone in account.zones.values():
            zone.routes = [route for route in zone.routes if route.script != name]
        for item in items:
            zone = _zone_of(account, item)
            route = _read(account, zone, {**item, "script": name}, None)
            zone.routes.append(route)
            made.append({**shown(route), "zone_id": zone.id, "zone_name": zone.name})
    except ApiError:
        for zone_id, kept in before.items():
            account.zones[zone_id].routes = kept
        raise
    await platform().runtime.update()
    return envelope(made)
