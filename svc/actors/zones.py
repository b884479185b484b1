"""Questions about an account's zones, asked live."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.actors import health
from svc.edge import zones
from svc.errors import Conflict, ServiceError

if TYPE_CHECKING:
    from svc.actors.context import Context
    from svc.edge.zones import Zone
    from svc.model import Account

# The specification's number; more are cut and said to be.
_ZONES_LISTED = 1_000


async def list_zones(context: Context, account: Account) -> tuple[list[Zone], bool]:
    """All zones sorted by name, and whether the list was cut. Raises Conflict account_not_ready, EdgeError."""
    check_connected(account)
    async with health.refusals_noted(context, account):
        return await zones.list_zones(context.access(account), limit=_ZONES_LISTED)


async def zone_for(context: Context, account: Account, host: str) -> Zone:
    """The active zone that `host` is the apex of or lies in.

    Raises ServiceError zone_not_found; Conflict account_not_ready; EdgeError.
    """
    check_connected(account)
    async with health.refusals_noted(context, account):
        zone = await zones.zone_of(context.access(account), host)
    if zone is None:
        raise ServiceError("zone_not_found", f"{host} is in no active zone of the account.")
    return zone


def check_connected(account: Account) -> None:
    """Whether the account has a working token. Raises Conflict account_not_ready."""
    if account.sealed_token is None:
        raise Conflict("account_not_ready", "The account is not connected.")
