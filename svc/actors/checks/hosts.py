"""The routes and DNS records of an account's hosts, as they are: without them nothing is counted or redirected.

A zone is read and its routes and records are listed once, however many sites are in it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, cast

from svc.actors.checks import findings
from svc.actors.checks.findings import TO_WORKER, Finding
from svc.actors.requests.zones import gone, not_active, obstacles, zone_now
from svc.actors.sync import routes
from svc.edge import routes as edge_routes
from svc.edge import zones
from svc.errors import EdgeError, EdgeRefused, EdgeUnavailable, ErrorNote
from svc.model import SITE_WARNINGS, link_pattern, site_pattern
from svc.store import link_hosts, sites
from svc.worker.bundle import SCRIPT_NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from svc.actors.context import Context
    from svc.edge.access import Access
    from svc.edge.routes import Route
    from svc.edge.zones import HostRecords, Zone
    from svc.model import Account, LinkHost, RouteState, Site, SiteWarning
    from svc.store.tx import Tx


@dataclass(frozen=True)
class _Routed:
    """A host with a route that was made; `saw` stores how the route was found now."""

    host: str
    zone_id: str
    pattern: str
    route_id: str | None
    error: ErrorNote | None
    warnings: tuple[ErrorNote, ...]
    for_links: bool
    saw: Callable[[RouteState, str | None, ErrorNote | None, Sequence[ErrorNote]], Tx[None]]


@dataclass(frozen=True)
class _Retiring:
    """An old path of a site, whose route is still wanted. `make`: makes it again."""

    host: str
    zone_id: str
    pattern: str
    make: Callable[[], findings.Repair]


async def look(context: Context, access: Access, account: Account) -> list[Finding]:
    """Find out what is wrong with the hosts; each site and the link host shows it from then on.

    A route that is gone waits to be made again once its finding is repaired. A zone that has left the account took its
    routes with it. Raises EdgeRefused, EdgeUnavailable.
    """
    waiting, made, retiring, warned = await _wanted(context, access, account)
    found = waiting
    zone_ids = {one.zone_id for one in made} | {one.zone_id for one in retiring} | {site.zone_id for site in warned}
    for zone_id in sorted(zone_ids):
        here = [one for one in made if one.zone_id == zone_id]
        old = [one for one in retiring if one.zone_id == zone_id]
        without_route = [one for one in warned if one.zone_id == zone_id]
        found += await _look_at_zone(context, access, zone_id, here, old, without_route)
    return found


async def check_zones_are_seen(context: Context, access: Access, account: Account) -> None:
    """Refuse a token that may not read the zones of the account's hosts, as far as they are in the account.

    The platform omits a zone that a token may not read from its list, without an error. Raises EdgeRefused
    permission_error, EdgeUnavailable.
    """
    listed, cut = await zones.list_zones(access)
    seen = {zone.id for zone in listed}
    _, made, _, _ = await _wanted(context, access, account)
    unseen = {one.zone_id: one.host for one in made if one.zone_id not in seen}
    for zone_id, host in unseen.items():
        if not cut and await _has_routes(access, zone_id):
            raise EdgeRefused("permission_error", f"The zone of {host} is not among those that the token may read.")


async def _has_routes(access: Access, zone_id: str) -> bool:
    """Return whether the zone's routes can be listed; those of a zone that has left the account cannot."""
    try:
        await edge_routes.list_routes(access, zone_id)
    except EdgeError:
        return False
    return True


async def _wanted(
    context: Context, access: Access, account: Account
) -> tuple[list[Finding], list[_Routed], list[_Retiring], list[Site]]:
    """Return the findings known without asking the platform, the existing routes, those of old paths, and the sites
    without a route that have warnings.
    """
    waiting: list[Finding] = []
    made: list[_Routed] = []
    retiring: list[_Retiring] = []
    warned: list[Site] = []
    host = account.link_host
    if host is not None:
        pattern = link_pattern(host.host)
        if host.state == "active":
            made.append(_routed_link_host(account.id, host, pattern))
        else:
            waiting.append(_not_made(pattern, host.error))
    now = context.clock()
    for site in await context.store.read(sites.sites_of(account.id)):
        if site.state == "deleted":
            continue
        pattern = site_pattern(site.host, site.path)
        if site.state == "active":
            saw = partial(sites.saw_site_route, site)
            made.append(
                _Routed(
                    site.host, site.zone_id, pattern, site.route_id, site.error, site.warnings, for_links=False, saw=saw
                )
            )
        elif site.warnings:
            warned.append(site)
        else:
            waiting.append(_not_made(pattern, site.error))
        for old in site.retiring:
            if old.until > now:
                make = partial(partial, routes.make_again, access, site, old.path)
                retiring.append(_Retiring(site.host, site.zone_id, site_pattern(site.host, old.path), make))
    return waiting, made, retiring, warned


def _routed_link_host(account_id: str, host: LinkHost, pattern: str) -> _Routed:
    """The link host, whose only note is its error: it is of no use without a proxied record in an active zone."""

    def saw(
        state: RouteState, route_id: str | None, error: ErrorNote | None, warnings: Sequence[ErrorNote]
    ) -> Tx[None]:
        note = error or next(iter(warnings), None)
        return link_hosts.saw_link_host_route(account_id, host.host, state, route_id, note)

    is_warning = host.error is not None and host.error.code in SITE_WARNINGS
    return _Routed(
        host.host,
        host.zone_id,
        pattern,
        host.route_id,
        None if is_warning else host.error,
        (host.error,) if is_warning and host.error is not None else (),
        for_links=True,
        saw=saw,
    )


def _not_made(pattern: str, error: ErrorNote | None) -> Finding:
    """The finding of a route that the service has not made: the duty tries it again and again."""
    facts = {"route": pattern, "said": "" if error is None else error.message}
    if error is None:
        return Finding("route_not_made", "cloudflare_error", facts, _by_the_duty, variant="unexplained")
    return Finding("route_not_made", error.code, facts)


async def _by_the_duty() -> None:
    """Nothing: `routes.make_when_due` follows each health check that finds something to repair."""


async def _look_at_zone(
    context: Context,
    access: Access,
    zone_id: str,
    made: Sequence[_Routed],
    retiring: Sequence[_Retiring],
    warned: Sequence[Site],
) -> list[Finding]:
    not_routed = [_not_made(site_pattern(site.host, site.path), _reason(site)) for site in warned]
    listed: Mapping[str, Route] = {}
    has_routes = bool(made or retiring)
    if has_routes:
        try:
            listed = {route.pattern: route for route in await edge_routes.list_routes(access, zone_id)}
        except EdgeError as error:
            found = await _without_zone(context, access, zone_id, made, error, "Workers Routes: Edit")
            return found + not_routed
    found = []
    zone: Zone | None = None
    try:
        zone = await zones.zone_by_id(access, zone_id)
    except EdgeError as error:
        if not has_routes:  # whether it has left the account is a matter of the duty that makes the routes
            return not_routed
        if isinstance(error, EdgeRefused):
            found.append(findings.refused("some_zone", "is active", error, "Zone: Read"))
        else:
            found.append(findings.unknown("some_zone", "is active", error))
    if zone is not None and not zone.is_active:
        found.append(_zone_inactive(zone))
    hosts = {one.host for one in made} | {site.host for site in warned}
    records: Mapping[str, HostRecords] = {}
    try:
        records = await zones.records_of_all(access, zone_id, hosts)
    except EdgeRefused as error:
        found.append(findings.refused("records", "are proxied", error, "DNS: Read"))
    except EdgeUnavailable as error:
        found.append(findings.unknown("records", "are proxied", error))
    for one in made:
        found += await _look_at_route(context, one, listed.get(one.pattern), zone, records.get(one.host))
    for site in warned:
        found.append(await _look_at_warned(context, site, zone, records.get(site.host)))
    for old in retiring:
        route = listed.get(old.pattern)
        if route is None:
            found.append(_deleted(old.pattern, old.make()))
        elif route.script != SCRIPT_NAME:
            found.append(_taken(old.pattern, route))
    return found


async def _without_zone(
    context: Context, access: Access, zone_id: str, made: Sequence[_Routed], error: EdgeError, right: str
) -> list[Finding]:
    """Explain why a zone was refused: it has left the account, or another reason."""
    if not made:
        return [findings.refused("routes", TO_WORKER, error, right)]
    try:
        zone = await zone_now(access, made[0].host, zone_id, error)
    except EdgeRefused as refusal:
        return [findings.refused("routes", TO_WORKER, refusal, right)]
    except EdgeUnavailable as unavailable:
        return [findings.unknown("routes", TO_WORKER, unavailable)]
    found = []
    for one in made:
        note = gone(one.host).note()
        await context.store.run(one.saw("route_pending", one.route_id, note, ()))
        repair = None if zone is None else _by_the_duty  # it came back, under another id
        found.append(Finding("route_gone", note.code, {"route": one.pattern}, repair))
    return found


def _zone_inactive(zone: Zone) -> Finding:
    note = not_active(zone)
    status = str((note.details or {})["status"])
    return Finding("zone_inactive", note.code, {"zone": zone.name, "status": status})


def _reason(site: Site) -> ErrorNote | None:
    """Return the reason why the site has no route yet, if known. A missing DNS record is none: it prevents no route."""
    if site.error is not None:
        return site.error
    return next((warning for warning in site.warnings if warning.code == "zone_not_active"), None)


async def _look_at_warned(context: Context, site: Site, zone: Zone | None, records: HostRecords | None) -> Finding:
    """Bring the warnings of a site without a route up to date. The route is made by the duty."""
    warnings = _warnings_now(site.host, site.warnings, zone, records)
    if warnings != site.warnings:
        await context.store.run(sites.set_warnings(site.id, warnings))
    return _not_made(site_pattern(site.host, site.path), _reason(replace(site, warnings=warnings)))


def _warnings_now(
    host: str,
    before: Sequence[ErrorNote],
    zone: Zone | None,
    records: HostRecords | None,
    *,
    for_links: bool = False,
) -> tuple[ErrorNote, ...]:
    """The warnings of a host; those about what is not known now stay as they were."""
    unknown = [code for code, fact in (("zone_not_active", zone), ("dns_not_proxied", records)) if fact is None]
    kept = [warning for warning in before if warning.code in unknown]
    now = [*kept, *obstacles(host, zone, records, for_links=for_links)]
    return tuple(sorted(now, key=lambda warning: SITE_WARNINGS.index(cast("SiteWarning", warning.code))))


async def _look_at_route(
    context: Context, one: _Routed, route: Route | None, zone: Zone | None, records: HostRecords | None
) -> list[Finding]:
    warnings = _warnings_now(one.host, one.warnings, zone, records, for_links=one.for_links)
    if route is None:
        return [_deleted(one.pattern, findings.by(context, partial(one.saw, "route_pending", None, None, warnings)))]
    if route.script != SCRIPT_NAME:
        note = ErrorNote("route_conflict", f"{one.pattern} is held by {route.holder}.")
        await context.store.run(one.saw("route_conflict", None, note, warnings))
        return [_taken(one.pattern, route)]
    found = []
    if records is not None and not records.proxied:
        found.append(Finding("record_not_proxied", "dns_not_proxied", {"host": one.host}))
    error = None if one.error is not None and one.error.code == "zone_not_found" else one.error
    if (error, tuple(warnings), route.id) != (one.error, one.warnings, one.route_id):
        await context.store.run(one.saw("active", route.id, error, warnings))
    return found


def _deleted(pattern: str, repair: findings.Repair) -> Finding:
    return Finding("route_deleted", "resource_drift", {"route": pattern}, repair)


def _taken(pattern: str, route: Route) -> Finding:
    return Finding("route_taken", "route_conflict", {"route": pattern, "holder": route.holder})
