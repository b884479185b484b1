"""The routes and DNS records of an account's hosts, as they are: without them nothing is counted or redirected.

Routes and records are listed once for each zone, however many sites are in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from svc.actors import findings, routes
from svc.actors.findings import Finding
from svc.actors.zones import gone, grey, is_note_of_host, zone_now
from svc.edge import routes as edge_routes
from svc.edge import zones
from svc.errors import EdgeError, EdgeRefused, EdgeUnavailable, ErrorNote
from svc.model import link_pattern, site_pattern
from svc.store import link_hosts, sites
from svc.worker.bundle import SCRIPT_NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from svc.actors.context import Context
    from svc.edge.access import Access
    from svc.edge.routes import Route
    from svc.edge.zones import HostRecords
    from svc.errors import Code
    from svc.model import Account, FindingKind, RouteState
    from svc.store.tx import Tx

_TO_WORKER = f"leads to the worker {SCRIPT_NAME}"
_MADE = "is made"


@dataclass(frozen=True)
class _Routed:
    """A host with a route that was made; `saw` notes how the route was found now."""

    host: str
    zone_id: str
    pattern: str
    route_id: str | None
    error: ErrorNote | None
    saw: Callable[[RouteState, str | None, ErrorNote | None], Tx[None]]


@dataclass(frozen=True)
class _Retiring:
    """An old path of a site, whose route is still wanted. `make`: makes it again."""

    host: str
    zone_id: str
    pattern: str
    make: Callable[[], findings.Mend]


async def look(context: Context, access: Access, account: Account) -> list[Finding]:
    """What is wrong with the hosts; each site and the link host shows it from then on.

    A route that is gone waits to be made again once its finding is mended. A zone that has left the account took its
    routes with it. Raises EdgeRefused, EdgeUnavailable.
    """
    waiting, made, retiring = await _wanted(context, access, account)
    found = waiting
    zone_ids = {one.zone_id for one in made} | {one.zone_id for one in retiring}
    for zone_id in sorted(zone_ids):
        here = [one for one in made if one.zone_id == zone_id]
        old = [one for one in retiring if one.zone_id == zone_id]
        found += await _look_at_zone(context, access, zone_id, here, old)
    return found


async def check_zones_are_seen(context: Context, access: Access, account: Account) -> None:
    """Whether the token may read the zones of the account's hosts, as far as they are in the account.

    The platform leaves a zone that a token may not read out of its list without a word. Raises EdgeRefused
    permission_error, EdgeUnavailable.
    """
    listed, cut = await zones.list_zones(access)
    seen = {zone.id for zone in listed}
    _, made, _ = await _wanted(context, access, account)
    unseen = {one.zone_id: one.host for one in made if one.zone_id not in seen}
    for zone_id, host in unseen.items():
        if not cut and await _has_routes(access, zone_id):
            raise EdgeRefused("permission_error", f"The zone of {host} is not among those that the token may read.")


async def _has_routes(access: Access, zone_id: str) -> bool:
    """Whether the zone's routes can be listed: not those of one that has left the account."""
    try:
        await edge_routes.list_routes(access, zone_id)
    except EdgeError:
        return False
    return True


async def _wanted(
    context: Context, access: Access, account: Account
) -> tuple[list[Finding], list[_Routed], list[_Retiring]]:
    """What is known to be wrong before the platform is asked, the routes that were made, and those of old paths."""
    waiting: list[Finding] = []
    made: list[_Routed] = []
    retiring: list[_Retiring] = []
    host = account.link_host
    if host is not None:
        pattern = link_pattern(host.host)
        if host.state == "active":
            saw = partial(link_hosts.saw_link_host_route, account.id, host.host)
            made.append(_Routed(host.host, host.zone_id, pattern, host.route_id, host.error, saw))
        else:
            waiting.append(_not_made(pattern, host.error))
    now = context.clock()
    for site in await context.store.read(sites.sites_of(account.id)):
        if site.state == "deleted":
            continue
        pattern = site_pattern(site.host, site.path)
        if site.state == "active":
            made.append(
                _Routed(
                    site.host, site.zone_id, pattern, site.route_id, site.error, partial(sites.saw_site_route, site)
                )
            )
        else:
            waiting.append(_not_made(pattern, site.error))
        for old in site.retiring:
            if old.until > now:
                make = partial(partial, routes.make_again, access, site, old.path)
                retiring.append(_Retiring(site.host, site.zone_id, site_pattern(site.host, old.path), make))
    return waiting, made, retiring


def _not_made(pattern: str, error: ErrorNote | None) -> Finding:
    """The finding of a route that the service has not made: the duty tries it again and again."""
    if error is None:
        return Finding(
            _thing(pattern),
            _MADE,
            "is not made yet",
            "cloudflare_error",
            _by_the_duty,
            kind="route_not_made",
            facts={"route": pattern, "said": ""},
        )
    return Finding(
        _thing(pattern),
        _MADE,
        f"is not made: {error.message.removesuffix('.')}",
        error.code,
        kind="route_not_made",
        facts={"route": pattern, "said": error.message},
    )


async def _by_the_duty() -> None:
    """Nothing: `routes.make_when_due` follows each look that finds something to mend."""


async def _look_at_zone(
    context: Context, access: Access, zone_id: str, made: Sequence[_Routed], retiring: Sequence[_Retiring]
) -> list[Finding]:
    hosts = {one.host for one in made}
    try:
        listed = {route.pattern: route for route in await edge_routes.list_routes(access, zone_id)}
    except EdgeError as error:
        return await _without_zone(context, access, zone_id, made, error, "Workers Routes: Edit")
    found = []
    records: Mapping[str, HostRecords] = {}
    try:
        records = await zones.records_of_all(access, zone_id, hosts)
    except EdgeRefused as error:
        found.append(findings.refused("the DNS records", "are proxied", error, "DNS: Read"))
    except EdgeUnavailable as error:
        found.append(findings.unknown("the DNS records", "are proxied", error))
    for one in made:
        found += await _look_at_route(context, one, listed.get(one.pattern), records.get(one.host))
    for old in retiring:
        route = listed.get(old.pattern)
        if route is None:
            found.append(
                _finding(old.pattern, "was deleted outside the service", "resource_drift", "route_deleted", old.make())
            )
        elif route.script != SCRIPT_NAME:
            found.append(
                _finding(
                    old.pattern, f"is held by {route.holder}", "route_conflict", "route_taken", holder=route.holder
                )
            )
    return found


async def _without_zone(
    context: Context, access: Access, zone_id: str, made: Sequence[_Routed], error: EdgeError, right: str
) -> list[Finding]:
    """What the refusal of a zone means: it has left the account, or another reason."""
    if not made:
        return [findings.refused("the routes", _TO_WORKER, error, right)]
    try:
        zone = await zone_now(access, made[0].host, zone_id, error)
    except EdgeRefused as refusal:
        return [findings.refused("the routes", _TO_WORKER, refusal, right)]
    except EdgeUnavailable as unavailable:
        return [findings.unknown("the routes", _TO_WORKER, unavailable)]
    found = []
    for one in made:
        note = gone(one.host).note()
        await context.store.run(one.saw("route_pending", one.route_id, note))
        mend = None if zone is None else _by_the_duty  # it came back, under another id
        found.append(
            _finding(one.pattern, "has gone with its zone, which left the account", note.code, "route_gone", mend)
        )
    return found


async def _look_at_route(
    context: Context, one: _Routed, route: Route | None, records: HostRecords | None
) -> list[Finding]:
    if route is None:
        mend = findings.by(context, partial(one.saw, "route_pending", None, None))
        return [_finding(one.pattern, "was deleted outside the service", "resource_drift", "route_deleted", mend)]
    if route.script != SCRIPT_NAME:
        held = f"is held by {route.holder}"
        note = ErrorNote("route_conflict", f"{one.pattern} {held}.")
        await context.store.run(one.saw("route_conflict", None, note))
        return [_finding(one.pattern, held, "route_conflict", "route_taken", holder=route.holder)]
    note_now = None if is_note_of_host(one.error) else one.error
    found = []
    if records is None:
        note_now = one.error
    elif not records.proxied:
        note_now = grey(one.host).note()
        thing = f"the DNS record of {one.host}"
        found.append(
            Finding(
                thing,
                "is proxied",
                "is missing or not proxied (a grey cloud)",
                "zone_not_found",
                kind="record_not_proxied",
                facts={"host": one.host},
            )
        )
    if (note_now, route.id) != (one.error, one.route_id):
        await context.store.run(one.saw("active", route.id, note_now))
    return found


def _finding(
    pattern: str, found: str, code: Code, kind: FindingKind, mend: findings.Mend | None = None, **facts: str
) -> Finding:
    return Finding(_thing(pattern), _TO_WORKER, found, code, mend, kind=kind, facts={"route": pattern, **facts})


def _thing(pattern: str) -> str:
    return f"the route {pattern}"
