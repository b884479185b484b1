"""Routes: what the platform sends to the worker. Made, retried, and removed here; never taken from another worker."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import trio

from svc.actors import health
from svc.actors.zones import gone, zone_now
from svc.edge import routes
from svc.errors import CannotUnseal, EdgeError, EdgeRefused, EdgeUnavailable, EdgeUnknown, ErrorNote
from svc.model import SERVING
from svc.store import link_hosts, sites
from svc.worker.bundle import SCRIPT_NAME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.actors.context import Context
    from svc.actors.duty import Timers
    from svc.edge.access import Access
    from svc.edge.routes import Route
    from svc.model import Account, LinkHost, RouteState, Site

log = logging.getLogger(__name__)


def site_pattern(host: str, path: str) -> str:
    """The route of a site's counter: its path, with and without what follows it (query, script name)."""
    return f"{host}{path}*"


def link_pattern(host: str) -> str:
    """The route of a link host: all of it."""
    return f"{host}/*"


async def make_when_due(context: Context, account: Account, timers: Timers) -> float:
    """Make every route that is pending, remove those of replaced link hosts; again after route_retry_s."""
    if account.state not in SERVING:
        return math.inf
    if trio.current_time() < timers.routes_at:
        return timers.routes_at
    replaced = await context.store.read(link_hosts.replaced_link_hosts(account.id))
    host = account.link_host if account.link_host and account.link_host.state != "active" else None
    unrouted = await context.store.read(sites.unrouted_sites(account.id))
    all_done = True
    if replaced or host is not None or unrouted:
        try:
            access = context.access(account)
            await _remove_replaced(context, access, account, replaced)
            host_done = host is None or await _make_link_host(context, access, account, host)
            all_done = await _make_sites(context, access, unrouted) and host_done
        except EdgeUnavailable as error:
            log.info("routes wait", extra={"account": account.id, "why": error.message})
            all_done = False
        except (EdgeRefused, CannotUnseal) as error:
            await health.note_refusal(context, account, error)
            all_done = False
    timers.routes_at = math.inf if all_done else trio.current_time() + context.config.timing.route_retry_s
    return timers.routes_at


async def _remove_replaced(context: Context, access: Access, account: Account, hosts: Sequence[LinkHost]) -> None:
    for host in hosts:
        await _remove(access, host.host, host.zone_id, host.route_id)
        await context.store.run(link_hosts.forget_link_host(account.id, host.host))


async def _make_link_host(context: Context, access: Access, account: Account, host: LinkHost) -> bool:
    """Whether the link host's route is active now."""
    # Past the day's requests a link leads nowhere, but to the platform's own page and not to a dummy record's time-out.
    wanted = _Wanted(host.host, link_pattern(host.host), fail_open=False)
    made = await _make(access, wanted, host.zone_id)
    await context.store.run(
        link_hosts.set_link_host_route(account.id, host.host, made.zone_id, made.state, made.route_id, made.error)
    )
    return made.state == "active"


async def _make_sites(context: Context, access: Access, unrouted: Sequence[Site]) -> bool:
    """Whether the routes of these sites are all active now."""
    all_active = True
    for site in unrouted:
        # Past the day's requests visitors notice nothing.
        wanted = _Wanted(site.host, site_pattern(site.host, site.path), fail_open=True)
        made = await _make(access, wanted, site.zone_id)
        await context.store.run(sites.set_site_route(site.id, made.zone_id, made.state, made.route_id, made.error))
        all_active = all_active and made.state == "active"
    return all_active


@dataclass(frozen=True)
class _Wanted:
    """A route that is to be made."""

    host: str
    pattern: str
    fail_open: bool


@dataclass(frozen=True)
class _Made:
    """How the making of a route ended."""

    zone_id: str
    state: RouteState
    route_id: str | None = None
    error: ErrorNote | None = None


async def _make(access: Access, wanted: _Wanted, zone_id: str) -> _Made:
    """The route that is wanted, in the zone of its host.

    A zone that has left the account refuses every call, with a code of which nothing is documented. That is this
    host's trouble and not the account's; when the zone comes back it has another id.
    """
    try:
        return await _make_in(access, wanted, zone_id)
    except EdgeError as error:
        zone = await zone_now(access, wanted.host, zone_id, error)
    if zone is None:
        return _Made(zone_id, "route_pending", None, gone(wanted.host).note())
    return await _make_in(access, wanted, zone.id)


async def _make_in(access: Access, wanted: _Wanted, zone_id: str) -> _Made:
    """The route that is wanted, looked up first and after a lost answer, so that it is made once."""
    pattern = wanted.pattern
    found = await _find(access, zone_id, pattern)
    if found is None:
        try:
            found = await routes.create(access, zone_id, pattern, SCRIPT_NAME, fail_open=wanted.fail_open)
        except EdgeUnknown:
            found = await _find(access, zone_id, pattern)
            if found is None:
                raise
        except EdgeRefused as error:
            if error.code != "route_conflict":
                raise
            return _Made(zone_id, "route_conflict", None, error.note())
    if found.script != SCRIPT_NAME:
        holder = f"the worker {found.script}" if found.script else "a route without a worker"
        held = ErrorNote("route_conflict", f"{pattern} is held by {holder}.")
        return _Made(zone_id, "route_conflict", None, held)
    if found.fail_open != wanted.fail_open:
        seen = {"pattern": pattern, "wanted": wanted.fail_open, "told": found.fail_open}
        log.info("the platform does not tell of a route that it fails open or closed as asked", extra=seen)
    return _Made(zone_id, "active", found.id)


async def _find(access: Access, zone_id: str, pattern: str) -> Route | None:
    return next((route for route in await routes.list_routes(access, zone_id) if route.pattern == pattern), None)


async def _remove(access: Access, host: str, zone_id: str, route_id: str | None) -> None:
    """Delete a link host's route if it is still as we made it; one that was changed outside is left in place.

    `route_id` None: the answer to its making was lost, so it is found by its pattern.
    """
    try:
        listed = await routes.list_routes(access, zone_id)
    except EdgeError as error:
        await zone_now(access, host, zone_id, error)
        return  # the zone has left the account, and its routes with it
    for route in listed:
        ours = route.pattern == link_pattern(host) and route.script == SCRIPT_NAME
        if ours and route_id in (None, route.id):
            await routes.delete(access, zone_id, route.id)
