"""The link host of an account: the host on which its short links live."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from svc.actors import health
from svc.actors.zones import zone_for
from svc.edge import zones
from svc.errors import Conflict, ServiceError
from svc.store import accounts, link_hosts

if TYPE_CHECKING:
    from svc.actors.context import Commit, Context
    from svc.model import LinkHost

R = TypeVar("R")


async def put(context: Context, account_id: str, host: str, commit: Commit[LinkHost, R]) -> R:
    """Set or replace the link host; links keep their codes. The route is made by the duty after this.

    Raises Conflict account_not_ready; ServiceError zone_not_found (no zone, or no proxied DNS record); Invalid (the
    account's links do not allow this host); EdgeError.
    """
    account = accounts.present(await context.store.read(accounts.account_by_id(account_id)))
    if account.state != "ready":
        raise Conflict("account_not_ready", f"The account is {account.state}; a link host needs it to be ready.")
    zone = await zone_for(context, account, host)
    async with health.refusals_noted(context, account):
        proxied = await zones.has_proxied_record(context.access(account), zone.id, host)
    if not proxied:
        raise ServiceError(
            "zone_not_found",
            f"{host} has no proxied DNS record; add one (for example AAAA 100::, proxied) in zone {zone.name}.",
            {"host": host, "zone": zone.name},
        )
    return await context.store.run(commit(link_hosts.put_link_host(account_id, host, zone.id)))
