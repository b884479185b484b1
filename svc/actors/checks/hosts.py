"""Checks of the routes and DNS records for an account's hosts.

Without routes and records, the Worker cannot count views or redirect clicks.

A check reads the routes and records of each zone only once, even if the zone contains many sites.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, cast

from svc.actors.checks import findings
from svc.actors.checks.findings import TO_WORKER, Finding
from svc.actors.requests.zones import current_zone, not_active, obstacles, zone_not_found
from svc.actors.sync import routes
from svc.edge import routes as edge_routes
from svc.edge import zones
from svc.errors import EdgeError, EdgeRefused, EdgeUnavailable, ErrorNote
from svc.model import SITE_WARNINGS, link_pattern, site_pattern
from svc.store import automatic_notes, link_hosts, sites
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
    """A host that has a route according to the store. `record` stores the actual state of this route."""

    host: str
    zone_id: str
    pattern: str
    route_id: str | None
    error: ErrorNote | None
    warnings: tuple[ErrorNote, ...]
    for_links: bool
    record: Callable[[RouteState, str | None, ErrorNote | None, Sequence[ErrorNote]], Tx[None]]


@dataclass(frozen=True)
class _Retiring:
    """A site's previous path. It still needs a route, because the Worker continues to count views on this path.

    `make` returns the repair that creates the route again.
    """

    host: str
    zone_id: str
    pattern: str
    make: Callable[[], findings.Repair]


async def check_hosts(context: Context, access: Access, account: Account) -> list[Finding]:
    """Check the hosts and return the findings. Store the results in the rows of the sites and the link host.

    If a route was deleted, or if its zone has left the account, the route's state becomes pending. A duty then creates
    the route again. Raises EdgeRefused if Cloudflare refuses a call, or EdgeUnavailable if a call fails temporarily.
    """
    waiting, made, retiring, warned = await _read_wanted(context, access, account)
    problems = waiting
    zone_ids = (
        {routed.zone_id for routed in made}
        | {routed.zone_id for routed in retiring}
        | {site.zone_id for site in warned}
    )
    for zone_id in sorted(zone_ids):
        here = [routed for routed in made if routed.zone_id == zone_id]
        old = [routed for routed in retiring if routed.zone_id == zone_id]
        without_route = [routed for routed in warned if routed.zone_id == zone_id]
        problems += await _check_zone(context, access, zone_id, here, old, without_route)
    return problems


async def check_zones_are_seen(context: Context, access: Access, account: Account) -> None:
    """Check that the token can read the zones that contain the account's hosts.

    This check is necessary because Cloudflare omits zones that the token cannot read. Zones that are no longer in the
    account are ignored. Raises EdgeRefused with the code permission_error if the token cannot read a zone, or
    EdgeUnavailable if a call fails temporarily.
    """
    listed, cut = await zones.list_zones(access)
    seen = {zone.id for zone in listed}
    _, made, _, _ = await _read_wanted(context, access, account)
    unseen = {routed.zone_id: routed.host for routed in made if routed.zone_id not in seen}
    for zone_id, host in unseen.items():
        if not cut and await _has_routes(access, zone_id):
            raise EdgeRefused("permission_error", f"The token cannot read the zone of {host}.")


async def _has_routes(access: Access, zone_id: str) -> bool:
    """Return True if the zone's routes can be listed. This is impossible after the zone has left the account."""
    try:
        await edge_routes.list_routes(access, zone_id)
    except EdgeError:
        return False
    return True


async def _read_wanted(
    context: Context, access: Access, account: Account
) -> tuple[list[Finding], list[_Routed], list[_Retiring], list[Site]]:
    """Read the data for the check from the store.

    Returns the findings that are known without a call, the existing routes, the routes for old paths, and the sites
    that have warnings but no route.
    """
    waiting: list[Finding] = []
    made: list[_Routed] = []
    retiring: list[_Retiring] = []
    warned: list[Site] = []
    now = context.clock()
    host = account.link_host
    if host is not None:
        pattern = link_pattern(host.host)
        if host.state == "active":
            made.append(_routed_link_host(account.id, host, pattern, now))
        else:
            waiting.append(_not_made(pattern, host.error))
    for site in await context.store.read(sites.sites_of(account.id)):
        if site.state == "deleted":
            continue
        pattern = site_pattern(site.host, site.path)
        if site.state == "active":
            record = partial(_record_site_route, site, now)
            made.append(
                _Routed(
                    site.host,
                    site.zone_id,
                    pattern,
                    site.route_id,
                    site.error,
                    site.warnings,
                    for_links=False,
                    record=record,
                )
            )
        elif site.warnings:
            warned.append(site)
        else:
            waiting.append(_not_made(pattern, site.error))
        for old in site.retiring:
            if old.until > now:
                make = partial(partial, routes.recreate_route, access, site, old.path)
                retiring.append(_Retiring(site.host, site.zone_id, site_pattern(site.host, old.path), make))
    return waiting, made, retiring, warned


def _record_site_route(
    site: Site,
    now: int,
    state: RouteState,
    route_id: str | None,
    error: ErrorNote | None,
    warnings: Sequence[ErrorNote],
) -> Tx[None]:
    recorded = yield from sites.record_site_route(site, state, route_id, error, warnings)
    if recorded and state != "active":
        yield from automatic_notes.route_missing(site, now)


def _routed_link_host(account_id: str, host: LinkHost, pattern: str, now: int) -> _Routed:
    """Return the link host's route for the check.

    Warnings about the route become the link host's error, because a link host has no field for warnings.
    """

    def record(
        state: RouteState, route_id: str | None, error: ErrorNote | None, warnings: Sequence[ErrorNote]
    ) -> Tx[None]:
        note = error or next(iter(warnings), None)
        recorded = yield from link_hosts.record_link_host_route(account_id, host.host, state, route_id, note)
        if recorded and state != "active":
            yield from automatic_notes.link_host_route_missing(account_id, host.host, now)

    is_warning = host.error is not None and host.error.code in SITE_WARNINGS
    return _Routed(
        host.host,
        host.zone_id,
        pattern,
        host.route_id,
        None if is_warning else host.error,
        (host.error,) if is_warning and host.error is not None else (),
        for_links=True,
        record=record,
    )


def _not_made(pattern: str, error: ErrorNote | None) -> Finding:
    """Return the finding for a route that does not exist yet. `routes.make_when_due` tries to create it again."""
    facts = {"route": pattern, "said": "" if error is None else error.message}
    if error is None:
        return Finding("route_not_made", "cloudflare_error", facts, _leave_to_duty, variant="unexplained")
    return Finding("route_not_made", error.code, facts)


async def _leave_to_duty() -> None:
    """Do nothing: the duty `routes.make_when_due` runs after each health check with repairs, and creates the route."""


async def _check_zone(
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
            problems = await _without_zone(context, access, zone_id, made, error, "Workers Routes: Edit")
            return problems + not_routed
    problems = []
    zone: Zone | None = None
    try:
        zone = await zones.zone_by_id(access, zone_id)
    except EdgeError as error:
        if not has_routes:  # if the zone has left the account, the duty that creates routes handles this
            return not_routed
        if isinstance(error, EdgeRefused):
            problems.append(findings.refused("some_zone", "is active", error, "Zone: Read"))
        else:
            problems.append(findings.unknown("some_zone", "is active", error))
    if zone is not None and not zone.is_active:
        problems.append(_zone_inactive(zone))
    hosts = {routed.host for routed in made} | {site.host for site in warned}
    records: Mapping[str, HostRecords] = {}
    try:
        records = await zones.records_of_all(access, zone_id, hosts)
    except EdgeRefused as error:
        problems.append(findings.refused("records", "are proxied", error, "DNS: Read"))
    except EdgeUnavailable as error:
        problems.append(findings.unknown("records", "are proxied", error))
    for routed in made:
        problems += await _check_route(context, routed, listed.get(routed.pattern), zone, records.get(routed.host))
    for site in warned:
        problems.append(await _update_warned(context, site, zone, records.get(site.host)))
    for old in retiring:
        route = listed.get(old.pattern)
        if route is None:
            problems.append(_deleted(old.pattern, old.make()))
        elif route.script != SCRIPT_NAME:
            problems.append(_conflicting(old.pattern, route))
    return problems


async def _without_zone(
    context: Context, access: Access, zone_id: str, made: Sequence[_Routed], error: EdgeError, permission: str
) -> list[Finding]:
    """Return the findings for a zone whose routes cannot be listed, such as a zone removed from the account."""
    if not made:
        return [findings.refused("routes", TO_WORKER, error, permission)]
    try:
        zone = await current_zone(access, made[0].host, zone_id, error)
    except EdgeRefused as refusal:
        return [findings.refused("routes", TO_WORKER, refusal, permission)]
    except EdgeUnavailable as unavailable:
        return [findings.unknown("routes", TO_WORKER, unavailable)]
    problems = []
    for routed in made:
        note = zone_not_found(routed.host).to_note()
        await context.store.run(routed.record("route_pending", routed.route_id, note, ()))
        repair = None if zone is None else _leave_to_duty  # the zone was added again with a new id
        problems.append(Finding("route_gone", note.code, {"route": routed.pattern}, repair))
    return problems


def _zone_inactive(zone: Zone) -> Finding:
    note = not_active(zone)
    status = str((note.details or {})["status"])
    return Finding("zone_inactive", note.code, {"zone": zone.name, "status": status})


def _reason(site: Site) -> ErrorNote | None:
    """Return the reason why the site has no route yet, or None if the reason is unknown.

    A missing DNS record is never the reason, because it does not prevent a route.
    """
    if site.error is not None:
        return site.error
    return next((warning for warning in site.warnings if warning.code == "zone_not_active"), None)


async def _update_warned(context: Context, site: Site, zone: Zone | None, records: HostRecords | None) -> Finding:
    """Update the warnings of a site without a route. Return the finding about the missing route."""
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
    """Return the host's current warnings. A warning in `before` is kept if its cause cannot be checked now."""
    unknown = [code for code, fact in (("zone_not_active", zone), ("dns_not_proxied", records)) if fact is None]
    kept = [warning for warning in before if warning.code in unknown]
    now = [*kept, *obstacles(host, zone, records, for_links=for_links)]
    return tuple(sorted(now, key=lambda warning: SITE_WARNINGS.index(cast("SiteWarning", warning.code))))


async def _check_route(
    context: Context, routed: _Routed, route: Route | None, zone: Zone | None, records: HostRecords | None
) -> list[Finding]:
    warnings = _warnings_now(routed.host, routed.warnings, zone, records, for_links=routed.for_links)
    if route is None:
        return [
            _deleted(
                routed.pattern,
                findings.repair_by(context, partial(routed.record, "route_pending", None, None, warnings)),
            )
        ]
    if route.script != SCRIPT_NAME:
        note = ErrorNote("route_conflict", f"{routed.pattern} is already used by {route.holder}.")
        await context.store.run(routed.record("route_conflict", None, note, warnings))
        return [_conflicting(routed.pattern, route)]
    problems = []
    if records is not None and not records.proxied:
        problems.append(Finding("record_not_proxied", "dns_not_proxied", {"host": routed.host}))
    error = None if routed.error is not None and routed.error.code == "zone_not_found" else routed.error
    if (error, tuple(warnings), route.id) != (routed.error, routed.warnings, routed.route_id):
        await context.store.run(routed.record("active", route.id, error, warnings))
    return problems


def _deleted(pattern: str, repair: findings.Repair) -> Finding:
    return Finding("route_deleted", "resource_drift", {"route": pattern}, repair)


def _conflicting(pattern: str, route: Route) -> Finding:
    return Finding("route_taken", "route_conflict", {"route": pattern, "holder": route.holder})
