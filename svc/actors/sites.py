"""What is done to an account's sites."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, TypeVar

from svc.actors import health
from svc.actors.zones import proxied_host
from svc.ids import new_id, new_site_path, random_base32
from svc.model import SERVING, Site
from svc.store import sites

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.actors.context import Commit, Context
    from svc.model import Account

R = TypeVar("R")


async def add(
    context: Context,
    account: Account,
    host: str,
    excluded_paths: Sequence[str],
    commit: Commit[Site, R],
    *,
    respect_gpc: bool = False,
) -> R:
    """Add a site, whose snippet is there at once; its route is made by the duty after this.

    Raises Conflict account_not_ready, site_on_link_host, site_exists; ServiceError zone_not_found (no zone, or no
    proxied DNS record); Forbidden limit_reached; EdgeError.
    """
    check_serving(account)
    zone, _ = await proxied_host(context, account, host)
    site = new_site(account, host, zone.id, excluded_paths, context.clock(), respect_gpc=respect_gpc)
    return await context.store.run(commit(sites.add_site(site, context.config.limits.sites)))


def check_serving(account: Account) -> None:
    """Whether the account can have a new site. Raises Conflict account_not_ready."""
    health.check_state(account, SERVING, "a site needs it to be ready")


def new_site(
    account: Account, host: str, zone_id: str, excluded_paths: Sequence[str], now: int, *, respect_gpc: bool = False
) -> Site:
    """A site with a path and a script name of its own, which is not stored yet."""
    return Site(
        id=new_id("site"),
        account_id=account.id,
        user_id=account.user_id,
        host=host,
        zone_id=zone_id,
        state="route_pending",
        path=new_site_path(),
        script_name=new_script_name(),
        excluded_paths=tuple(excluded_paths),
        respect_gpc=respect_gpc,
        route_id=None,
        retiring=(),
        error=None,
        version=0,
        created_at=now,
    )


def new_script_name(other_than: str = "") -> str:
    """A random name of 2 to 5 characters, without `.js`."""
    while (name := random_base32(2 + secrets.randbelow(4))) == other_than:
        pass
    return name
