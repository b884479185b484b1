"""Questions about an account's zones and the hosts in them, asked live."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.actors import health
from svc.edge import zones
from svc.errors import EdgeError, EdgeUnavailable, ErrorNote, ServiceError
from svc.store import accounts

if TYPE_CHECKING:
    from svc.actors.context import Context
    from svc.edge.access import Access
    from svc.edge.zones import HostRecords, Zone
    from svc.model import Account

# The specification's number; more are cut and said to be.
_ZONES_LISTED = 1_000

_NOT_FOUND = 404


async def list_zones(context: Context, account: Account) -> tuple[list[Zone], bool]:
    """All zones sorted by name, and whether the list was cut. Raises Conflict account_not_ready, EdgeError."""
    check_connected(account)
    async with health.refusals_noted(context, account):
        return await zones.list_zones(context.access(account).awaited(), limit=_ZONES_LISTED)


async def proxied_host(context: Context, account: Account, host: str) -> tuple[Zone, HostRecords]:
    """The active zone that `host` is the apex of or lies in, and what DNS says of the host, whose visitors reach us.

    Raises ServiceError zone_not_found (no zone, or no proxied DNS record); Conflict account_not_ready; EdgeError.
    """
    check_connected(account)
    async with health.refusals_noted(context, account):
        access = context.access(account).awaited()
        zone = await zones.zone_of(access, host)
        if zone is None:
            raise gone(host)
        records = await zones.records_of(access, zone.id, host)
    if not records.proxied:
        raise grey(host)
    return zone, records


async def zone_now(access: Access, host: str, zone_id: str, refusal: EdgeError) -> Zone | None:
    """The zone that `host` is in, when `zone_id`, which refused a call, has left the account; None: none.

    Raises the refusal when that is not its reason. (How the platform refuses calls on such a zone is not documented.)
    """
    if isinstance(refusal, EdgeUnavailable) and refusal.remote_status != _NOT_FOUND:
        raise refusal
    zone = await zones.zone_of(access, host)
    if zone is not None and zone.id == zone_id:
        raise refusal
    return zone


def gone(host: str) -> ServiceError:
    """The refusal of a host that is in no zone."""
    return ServiceError("zone_not_found", f"{host} is in no active zone of the account.", {"host": host})


def grey(host: str) -> ServiceError:
    """The refusal of a host whose visitors pass the edge platform by."""
    return ServiceError(
        "zone_not_found",
        f"{host} has no proxied DNS record, so its visitors pass the edge platform by. Turn the proxy of its record on"
        " (the orange cloud), or add one; for a host with nothing but links, AAAA 100:: will do.",
        {"host": host},
    )


def is_note_of_host(note: ErrorNote | None) -> bool:
    """Whether a site or link host carries one of the two refusals above."""
    return note is not None and note.code == "zone_not_found"


def check_connected(account: Account) -> None:
    """Whether the account has a working token. Raises Conflict account_not_ready."""
    if account.sealed_token is None:
        raise accounts.not_ready(account, "The account is not connected.")
