"""The DNS records of hosts that have a route: without the platform's proxy nothing of them is counted or redirected."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING

import trio

from svc.actors import health
from svc.actors.zones import gone, grey, is_note_of_host, zone_now
from svc.edge import zones
from svc.errors import CannotUnseal, EdgeError, EdgeRefused, EdgeUnavailable
from svc.model import SERVING
from svc.store import link_hosts, sites

if TYPE_CHECKING:
    from svc.actors.context import Context
    from svc.actors.duty import Timers
    from svc.edge.access import Access
    from svc.errors import ErrorNote
    from svc.model import Account, LinkHost, RouteState, Site

log = logging.getLogger(__name__)


async def check_when_due(context: Context, account: Account, timers: Timers) -> float:
    """Look at the records every `health_every_s`: a host whose record has turned grey says so until it is mended."""
    if account.state not in SERVING or account.sealed_token is None:
        return math.inf
    if trio.current_time() < timers.records_at:
        return timers.records_at
    try:
        if await _check(context, account):
            timers.routes_at = 0
    except EdgeUnavailable as error:
        log.info("records not known", extra={"account": account.id, "why": error.message})
    except (EdgeRefused, CannotUnseal) as error:
        await health.note_refusal(context, account, error)
    timers.records_at = trio.current_time() + context.config.timing.health_every_s
    return timers.records_at


async def _check(context: Context, account: Account) -> bool:
    """Whether a route is gone and to be made again."""
    states: list[RouteState] = []
    access = context.access(account)
    host = account.link_host
    if host is not None and host.state == "active":
        state, note = await _seen(access, host)
        states.append(state)
        if (state, note) != (host.state, host.error):
            await context.store.run(
                link_hosts.set_link_host_route(account.id, host.host, host.zone_id, state, host.route_id, note)
            )
    for site in await context.store.read(sites.sites_of(account.id)):
        if site.state != "active":
            continue
        state, note = await _seen(access, site)
        states.append(state)
        if (state, note) != (site.state, site.error):
            await context.store.run(sites.set_site_route(site.id, site.path, site.zone_id, state, site.route_id, note))
    return "route_pending" in states


async def _seen(access: Access, routed: Site | LinkHost) -> tuple[RouteState, ErrorNote | None]:
    """How a site or link host with an active route stands: its state, and what is wrong with it.

    Where its zone has left the account the route has gone with it, and waits to be made again.
    """
    try:
        records = await zones.records_of(access, routed.zone_id, routed.host)
    except EdgeError as error:
        await zone_now(access, routed.host, routed.zone_id, error)
        return "route_pending", gone(routed.host).note()
    if not records.proxied:
        return "active", grey(routed.host).note()
    return "active", None if is_note_of_host(routed.error) else routed.error
