"""Creates and removes the routes that send requests to the Worker.

The service never changes routes of other Workers.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import trio

from svc.actors.checks import account_state
from svc.actors.requests.zones import ZoneNotActive, current_zone, zone_not_found
from svc.edge import routes
from svc.errors import CannotUnseal, EdgeError, EdgeRefused, EdgeUnavailable, EdgeUnknown, ErrorNote
from svc.model import SERVING, link_pattern, site_pattern
from svc.store import accounts, automatic_notes, link_hosts, site_paths, sites, unwanted_routes
from svc.worker.bundle import SCRIPT_NAME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.actors.context import Context
    from svc.actors.duty import Timers
    from svc.edge.access import Access
    from svc.edge.routes import Route
    from svc.model import Account, LinkHost, ObsoleteRoute, RouteState, Site
    from svc.store.tx import Tx

log = logging.getLogger(__name__)

# The time after which the service searches again for a route that it wanted to remove but did not find. A call may
# create a route even though its response is lost, so the route may appear later.
_LATE_MS = 300_000


async def make_when_due(context: Context, account: Account, timers: Timers) -> float:
    """Remove unwanted routes and create pending routes. If a call fails, retry after `route_retry_s`."""
    if account.state not in SERVING:
        return math.inf
    if trio.current_time() < timers.routes_at:
        return timers.routes_at
    unwanted, unrouted, host = await context.store.read(_pending_work(account.id))
    all_done = True
    if unwanted or host is not None or unrouted:
        try:
            access = context.access(account)
            all_gone = await _remove_unwanted(context, access, unwanted)
            host_done = host is None or await _create_link_host_route(context, access, account, host)
            all_done = await _create_site_routes(context, access, unrouted, timers) and host_done and all_gone
        except (EdgeRefused, CannotUnseal, EdgeUnavailable) as error:
            log.info("routes delayed", extra={"account": account.id, "why": error.message})
            await account_state.record_refusal(context, account, error)
            all_done = False
    timers.routes_at = math.inf if all_done else trio.current_time() + context.config.timing.route_retry_s
    return timers.routes_at


async def end_old_paths(context: Context, account: Account, timers: Timers) -> float:
    """Remove the expired previous paths of sites.

    The Worker then no longer counts views on these paths, and the service removes their routes.
    """
    del timers
    until = await context.store.read(site_paths.next_path_end(account.id))
    if until is not None and context.clock() >= until:
        await context.store.run(site_paths.end_paths(account.id, context.clock()))
        until = await context.store.read(site_paths.next_path_end(account.id))
    return math.inf if until is None else trio.current_time() + max(0, until - context.clock()) / 1000


def _pending_work(account_id: str) -> Tx[tuple[list[ObsoleteRoute], list[Site], LinkHost | None]]:
    """Return the routes to remove, and the sites and the link host that need a route.

    One transaction reads all of these, so that no route is created for a link host that has been replaced. Routes that
    become unwanted later are removed in the duty's next run.
    """
    unwanted = yield from unwanted_routes.of_account(account_id)
    unrouted = yield from sites.unrouted_sites(account_id)
    account = yield from accounts.account_by_id(account_id)
    host = None if account is None else account.link_host
    return unwanted, unrouted, None if host is None or host.state == "active" else host


async def _remove_unwanted(context: Context, access: Access, unwanted: Sequence[ObsoleteRoute]) -> bool:
    """Remove the routes. Return False if a removal has to be retried."""
    all_gone = True
    for route in unwanted:
        if route.again_at is not None and context.clock() < route.again_at:
            all_gone = False
            continue
        try:
            outcome = await remove(access, route)
        except EdgeRefused as error:
            _raise_account_wide(error)
            log.warning("route not removed", extra={"pattern": route.pattern, "why": error.message})
            all_gone = False
            continue
        if outcome == "gone" and route.route_id is None and route.again_at is None:
            await context.store.run(unwanted_routes.schedule_retry(route, context.clock() + _LATE_MS))
            all_gone = False
            continue
        note = None
        if outcome == "not_ours":
            text = f"The route {route.pattern} was changed outside the service and was left in place."
            note = ErrorNote("route_not_ours", text, {"pattern": route.pattern})
            log.warning("route not ours, left in place", extra={"account": route.account_id, "pattern": route.pattern})
        await context.store.run(unwanted_routes.forget(route, note))
    return all_gone


async def _create_link_host_route(context: Context, access: Access, account: Account, host: LinkHost) -> bool:
    """Create the link host's route. Return True if it is active."""
    # Fail closed: when the daily request limit is reached, visitors get Cloudflare's error page. With fail open,
    # requests would go to the address in the placeholder DNS record and time out.
    wanted = _Wanted(host.host, link_pattern(host.host), fail_open=False)
    made = await _create_route(access, wanted, host.zone_id)
    await context.store.run(_store_link_host_route(account.id, host.host, made, context.clock()))
    return made.state == "active"


async def _create_site_routes(context: Context, access: Access, unrouted: Sequence[Site], timers: Timers) -> bool:
    """Create the routes for these sites and for their old paths. Return True if all routes are active.

    If Cloudflare refuses a route because the zone is inactive, the routes of other sites in this zone are not tried.
    """
    all_active = True
    inactive: dict[str, _RouteResult] = {}
    for site in unrouted:
        if site.state != "active":
            made = inactive.get(site.zone_id) or await _create_path_route(access, site, site.path)
            await context.store.run(_store_site_route(site, made, context.clock()))
            if made.warning is not None:
                inactive[site.zone_id] = made
            elif site.warnings:
                _check_soon(context, site, timers)
            all_active = all_active and made.state == "active"
        for old in site.retiring:
            if old.route_id is None:
                made = inactive.get(site.zone_id) or await _create_path_route(access, site, old.path)
                await context.store.run(sites.set_old_route(site.id, old.path, made.route_id))
                all_active = all_active and made.state == "active"
    return all_active


def _store_site_route(site: Site, made: _RouteResult, now: int) -> Tx[None]:
    is_current = yield from sites.set_site_route(
        site.id, site.path, made.zone_id, made.state, made.route_id, made.error, made.warning
    )
    if is_current and made.state == "active":
        yield from automatic_notes.route_restored(site.id, "route_missing", now)


def _store_link_host_route(account_id: str, host: str, made: _RouteResult, now: int) -> Tx[None]:
    yield from link_hosts.set_link_host_route(
        account_id, host, made.zone_id, made.state, made.route_id, made.error or made.warning
    )
    if made.state == "active":
        yield from automatic_notes.route_restored(account_id, "link_host_route_missing", now)


def _check_soon(context: Context, site: Site, timers: Timers) -> None:
    """Schedule a health check for a site that has a route and warnings, because the warnings may be outdated.

    If a warning says that the zone is inactive, the check is due immediately, because the new route suggests that the
    zone is active now. Warnings about DNS records are checked hourly.
    """
    became_active = any(warning.code == "zone_not_active" for warning in site.warnings)
    wait_s = 0 if became_active else context.config.timing.health_every_s
    timers.health_at = min(timers.health_at, trio.current_time() + wait_s)


async def _create_path_route(access: Access, site: Site, path: str) -> _RouteResult:
    # Fail open: when the daily request limit is reached, visitors still reach the website.
    return await _create_route(access, _Wanted(site.host, site_pattern(site.host, path), fail_open=True), site.zone_id)


async def recreate_route(access: Access, site: Site, path: str) -> None:
    """Recreate a deleted route for one of the site's paths.

    Raises EdgeUnavailable, or EdgeRefused with the code route_conflict or zone_not_active.
    """
    made = await _create_path_route(access, site, path)
    note = made.error or made.warning
    if note is not None:
        raise EdgeRefused(note.code, note.message)


@dataclass(frozen=True)
class _Wanted:
    """A route to create."""

    host: str
    pattern: str
    fail_open: bool


@dataclass(frozen=True)
class _RouteResult:
    """The result of creating a route. `warning`: set if Cloudflare refused the route because the zone is inactive."""

    zone_id: str
    state: RouteState
    route_id: str | None = None
    error: ErrorNote | None = None
    warning: ErrorNote | None = None


async def _create_route(access: Access, wanted: _Wanted, zone_id: str) -> _RouteResult:
    """Create a route.

    If a refusal concerns only this route, the function returns the refusal, so that other routes are still created.
    """
    try:
        return await _create_in_current_zone(access, wanted, zone_id)
    except ZoneNotActive as error:
        return _RouteResult(zone_id, "route_pending", warning=error.to_note())
    except EdgeRefused as error:
        _raise_account_wide(error)
        log.warning("route not created", extra={"pattern": wanted.pattern, "why": error.message})
        return _RouteResult(zone_id, "route_pending", None, error.to_note())


def _raise_account_wide(refusal: EdgeRefused) -> None:
    """Raise the refusal if it concerns the whole account, for example if a permission is missing.

    Other refusals concern only the route, such as the limit of 1,000 routes per zone or an inactive zone.
    """
    if refusal.code not in ("cloudflare_error", "zone_not_active"):
        raise refusal


async def _create_in_current_zone(access: Access, wanted: _Wanted, zone_id: str) -> _RouteResult:
    """Create the route in the zone that the host is in now.

    If a zone has left the account, Cloudflare refuses every call for this zone with an undocumented code. Such a
    refusal concerns only the host and not the account. If the zone is added to the account again, it gets a new id.
    """
    try:
        return await _create_in_zone(access, wanted, zone_id)
    except EdgeError as error:
        zone = await current_zone(access, wanted.host, zone_id, error)
    if zone is None:
        return _RouteResult(zone_id, "route_pending", None, zone_not_found(wanted.host).to_note())
    try:
        return await _create_in_zone(access, wanted, zone.id)
    except EdgeRefused as error:
        if zone.is_active:
            raise
        raise ZoneNotActive(zone) from error


async def _create_in_zone(access: Access, wanted: _Wanted, zone_id: str) -> _RouteResult:
    """Create the route unless it exists.

    Searches for an existing route first. If the response to the creation was lost, searches again.
    """
    pattern = wanted.pattern
    route = await _find(access, zone_id, pattern)
    if route is None:
        try:
            route = await routes.create(access, zone_id, pattern, SCRIPT_NAME, fail_open=wanted.fail_open)
        except EdgeUnknown:
            route = await _find(access, zone_id, pattern)
            if route is None:
                raise
        except EdgeRefused as error:
            if error.code != "route_conflict":
                raise
            return _RouteResult(zone_id, "route_conflict", None, error.to_note())
    if route.script != SCRIPT_NAME:
        conflict = ErrorNote("route_conflict", f"{pattern} is already used by {route.holder}.")
        return _RouteResult(zone_id, "route_conflict", None, conflict)
    if route.fail_open != wanted.fail_open:
        fields = {"pattern": pattern, "wanted": wanted.fail_open, "returned": route.fail_open}
        log.info("fail-open setting of a route differs", extra=fields)
    return _RouteResult(zone_id, "active", route.id)


async def _find(access: Access, zone_id: str, pattern: str) -> Route | None:
    return next((route for route in await routes.list_routes(access, zone_id) if route.pattern == pattern), None)


async def remove(access: Access, unwanted: ObsoleteRoute) -> Literal["removed", "gone", "not_ours"]:
    """Delete a route if it still has the service's pattern and Worker. The route is found even if its id has changed.

    Returns "not_ours" if the route is kept because it was changed outside the service, or "gone" if the route did not
    exist. Raises EdgeRefused if Cloudflare refuses a call, or EdgeUnavailable if a call fails temporarily.
    """
    zone_id = unwanted.zone_id
    try:
        listed = await routes.list_routes(access, zone_id)
    except EdgeError as error:
        zone = await current_zone(access, unwanted.host, zone_id, error)
        if zone is None:
            return "gone"  # the zone has left the account together with its routes
        zone_id = zone.id
        listed = await routes.list_routes(access, zone_id)
    matching = [route for route in listed if route.pattern == unwanted.pattern or route.id == unwanted.route_id]
    ours = [route for route in matching if route.pattern == unwanted.pattern and route.script == SCRIPT_NAME]
    for route in ours:
        await routes.delete(access, zone_id, route.id)
    if unwanted.route_id is not None and len(matching) > len(ours):
        return "not_ours"
    return "removed" if ours else "gone"
