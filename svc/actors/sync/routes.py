"""Routes: what the platform sends to the worker. Made, retried, and removed here; never taken from another worker."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import trio

from svc.actors.checks import account_state
from svc.actors.requests.zones import ZoneNotActive, gone, zone_now
from svc.edge import routes
from svc.errors import CannotUnseal, EdgeError, EdgeRefused, EdgeUnavailable, EdgeUnknown, ErrorNote
from svc.model import SERVING, link_pattern, site_pattern
from svc.store import accounts, link_hosts, site_paths, sites, unwanted_routes
from svc.worker.bundle import SCRIPT_NAME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.actors.context import Context
    from svc.actors.duty import Timers
    from svc.edge.access import Access
    from svc.edge.routes import Route
    from svc.model import Account, LinkHost, RouteState, Site, UnwantedRoute
    from svc.store.tx import Tx

log = logging.getLogger(__name__)

# A call without an answer may be carried out late: a route that was asked for and is not there is looked for once more.
_LATE_MS = 300_000


async def make_when_due(context: Context, account: Account, timers: Timers) -> float:
    """Remove every route that is unwanted, make every one that is pending; again after route_retry_s."""
    if account.state not in SERVING:
        return math.inf
    if trio.current_time() < timers.routes_at:
        return timers.routes_at
    unwanted, unrouted, host = await context.store.read(_to_do(account.id))
    all_done = True
    if unwanted or host is not None or unrouted:
        try:
            access = context.access(account)
            all_gone = await _remove_unwanted(context, access, unwanted)
            host_done = host is None or await _make_link_host(context, access, account, host)
            all_done = await _make_sites(context, access, unrouted, timers) and host_done and all_gone
        except (EdgeRefused, CannotUnseal, EdgeUnavailable) as error:
            log.info("routes wait", extra={"account": account.id, "why": error.message})
            await account_state.note(context, account, error)
            all_done = False
    timers.routes_at = math.inf if all_done else trio.current_time() + context.config.timing.route_retry_s
    return timers.routes_at


async def end_old_paths(context: Context, account: Account, timers: Timers) -> float:
    """A site's old path is counted until its time; then the worker forgets it, and its route is removed."""
    del timers
    until = await context.store.read(site_paths.next_path_end(account.id))
    if until is not None and context.clock() >= until:
        await context.store.run(site_paths.end_paths(account.id, context.clock()))
        until = await context.store.read(site_paths.next_path_end(account.id))
    return math.inf if until is None else trio.current_time() + max(0, until - context.clock()) / 1000


def _to_do(account_id: str) -> Tx[tuple[list[UnwantedRoute], list[Site], LinkHost | None]]:
    """The routes to remove, and the sites and the link host whose routes are to be created.

    All three are read in one transaction: a route that becomes unwanted later is removed by the next run, and no route
    is created for a link host that was replaced before.
    """
    unwanted = yield from unwanted_routes.of_account(account_id)
    unrouted = yield from sites.unrouted_sites(account_id)
    account = yield from accounts.account_by_id(account_id)
    host = None if account is None else account.link_host
    return unwanted, unrouted, None if host is None or host.state == "active" else host


async def _remove_unwanted(context: Context, access: Access, unwanted: Sequence[UnwantedRoute]) -> bool:
    """Remove the routes; return whether none is left to be looked for again."""
    all_gone = True
    for route in unwanted:
        if route.again_at is not None and context.clock() < route.again_at:
            all_gone = False
            continue
        try:
            outcome = await remove(access, route)
        except EdgeRefused as error:
            _check_of_route(error)
            log.warning("a route is not removed", extra={"pattern": route.pattern, "why": error.message})
            all_gone = False
            continue
        if outcome == "gone" and route.route_id is None and route.again_at is None:
            await context.store.run(unwanted_routes.look_again(route, context.clock() + _LATE_MS))
            all_gone = False
            continue
        note = None
        if outcome == "not_ours":
            text = f"The route {route.pattern} was changed outside the service, and is left in place."
            note = ErrorNote("route_not_ours", text, {"pattern": route.pattern})
            log.warning("a route is left", extra={"account": route.account_id, "pattern": route.pattern})
        await context.store.run(unwanted_routes.forget(route, note))
    return all_gone


async def _make_link_host(context: Context, access: Access, account: Account, host: LinkHost) -> bool:
    """Make the link host's route; return whether it is active now."""
    # Past the day's requests a link leads nowhere, but to the platform's own page and not to a dummy record's time-out.
    wanted = _Wanted(host.host, link_pattern(host.host), fail_open=False)
    made = await _make(access, wanted, host.zone_id)
    await context.store.run(
        link_hosts.set_link_host_route(
            account.id, host.host, made.zone_id, made.state, made.route_id, made.error or made.warning
        )
    )
    return made.state == "active"


async def _make_sites(context: Context, access: Access, unrouted: Sequence[Site], timers: Timers) -> bool:
    """Make the routes of these sites and their old paths; return whether all are active now.

    A zone that refuses a route because it is not active is asked once, however many sites are in it.
    """
    all_active = True
    inactive: dict[str, _Made] = {}
    for site in unrouted:
        if site.state != "active":
            made = inactive.get(site.zone_id) or await _make_path(access, site, site.path)
            await context.store.run(
                sites.set_site_route(
                    site.id, site.path, made.zone_id, made.state, made.route_id, made.error, made.warning
                )
            )
            if made.warning is not None:
                inactive[site.zone_id] = made
            elif site.warnings:
                _check_soon(context, site, timers)
            all_active = all_active and made.state == "active"
        for old in site.retiring:
            if old.route_id is None:
                made = inactive.get(site.zone_id) or await _make_path(access, site, old.path)
                await context.store.run(sites.set_old_route(site.id, old.path, made.route_id))
                all_active = all_active and made.state == "active"
    return all_active


def _check_soon(context: Context, site: Site, timers: Timers) -> None:
    """Have the account checked while a site with a route has warnings: they may be out of date.

    A zone that was not active has probably become so, hence the check is due now; a DNS record is checked hourly.
    """
    became_active = any(warning.code == "zone_not_active" for warning in site.warnings)
    wait_s = 0 if became_active else context.config.timing.health_every_s
    timers.health_at = min(timers.health_at, trio.current_time() + wait_s)


async def _make_path(access: Access, site: Site, path: str) -> _Made:
    # Past the day's requests visitors notice nothing.
    return await _make(access, _Wanted(site.host, site_pattern(site.host, path), fail_open=True), site.zone_id)


async def make_again(access: Access, site: Site, path: str) -> None:
    """Make the route of one of the site's paths that is gone.

    Raises EdgeRefused route_conflict, zone_not_active; EdgeUnavailable.
    """
    made = await _make_path(access, site, path)
    note = made.error or made.warning
    if note is not None:
        raise EdgeRefused(note.code, note.message)


@dataclass(frozen=True)
class _Wanted:
    """A route that is to be made."""

    host: str
    pattern: str
    fail_open: bool


@dataclass(frozen=True)
class _Made:
    """The outcome of creating a route; `warning`: the zone refused it because it is not active."""

    zone_id: str
    state: RouteState
    route_id: str | None = None
    error: ErrorNote | None = None
    warning: ErrorNote | None = None


async def _make(access: Access, wanted: _Wanted, zone_id: str) -> _Made:
    """The route that is wanted; a refusal that is of this route alone does not keep others from theirs."""
    try:
        return await _make_now(access, wanted, zone_id)
    except ZoneNotActive as error:
        return _Made(zone_id, "route_pending", warning=error.note())
    except EdgeRefused as error:
        _check_of_route(error)
        log.warning("a route is not made", extra={"pattern": wanted.pattern, "why": error.message})
        return _Made(zone_id, "route_pending", None, error.note())


def _check_of_route(refusal: EdgeRefused) -> None:
    """Raise it again where it is the account's: a right is missing, the token is refused.

    Any other is of the route, e.g. the thousand-and-first of its zone, or of a zone that is not active.
    """
    if refusal.code not in ("cloudflare_error", "zone_not_active"):
        raise refusal


async def _make_now(access: Access, wanted: _Wanted, zone_id: str) -> _Made:
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
    try:
        return await _make_in(access, wanted, zone.id)
    except EdgeRefused as error:
        if zone.is_active:
            raise
        raise ZoneNotActive(zone) from error


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
        held = ErrorNote("route_conflict", f"{pattern} is held by {found.holder}.")
        return _Made(zone_id, "route_conflict", None, held)
    if found.fail_open != wanted.fail_open:
        seen = {"pattern": pattern, "wanted": wanted.fail_open, "told": found.fail_open}
        log.info("the platform does not tell of a route that it fails open or closed as asked", extra=seen)
    return _Made(zone_id, "active", found.id)


async def _find(access: Access, zone_id: str, pattern: str) -> Route | None:
    return next((route for route in await routes.list_routes(access, zone_id) if route.pattern == pattern), None)


async def remove(access: Access, unwanted: UnwantedRoute) -> Literal["removed", "gone", "not_ours"]:
    """Delete a route that is still as we made it: our worker on our pattern, whatever its id.

    "not_ours": one that we made was changed outside, and is left in place. "gone": there is none, nor was there one of
    ours, as far as we know. Raises EdgeRefused, EdgeUnavailable.
    """
    zone_id = unwanted.zone_id
    try:
        listed = await routes.list_routes(access, zone_id)
    except EdgeError as error:
        zone = await zone_now(access, unwanted.host, zone_id, error)
        if zone is None:
            return "gone"  # the zone has left the account, and its routes with it
        zone_id = zone.id
        listed = await routes.list_routes(access, zone_id)
    met = [route for route in listed if route.pattern == unwanted.pattern or route.id == unwanted.route_id]
    ours = [route for route in met if route.pattern == unwanted.pattern and route.script == SCRIPT_NAME]
    for route in ours:
        await routes.delete(access, zone_id, route.id)
    if unwanted.route_id is not None and len(met) > len(ours):
        return "not_ours"
    return "removed" if ours else "gone"
