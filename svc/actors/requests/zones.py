"""Queries to Cloudflare about an account's zones and the hosts in these zones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.actors.checks import account_state
from svc.edge import zones
from svc.errors import EdgeError, EdgeRefused, EdgeUnavailable, ErrorNote, ServiceError
from svc.store import accounts

if TYPE_CHECKING:
    from svc.actors.context import Context
    from svc.edge.access import Access
    from svc.edge.zones import HostRecords, Zone
    from svc.model import Account

# The maximum number of zones in a list. A longer list is truncated, and the response's field `truncated` is then true.
_ZONES_LISTED = 1_000

_NOT_FOUND = 404


async def list_zones(context: Context, account: Account) -> tuple[list[Zone], bool]:
    """Return the account's zones sorted by name, and True if the list was truncated.

    Raises EdgeError if a call to Cloudflare fails, or Conflict with the code account_not_ready if the account has no
    working token.
    """
    check_connected(account)
    async with account_state.refusals_recorded(context, account):
        return await zones.list_zones(context.access(account).awaited(), limit=_ZONES_LISTED)


class ZoneNotActive(EdgeRefused):
    """Raised if Cloudflare refused a call because the zone is inactive. The error code is zone_not_active."""

    def __init__(self, zone: Zone) -> None:
        note = not_active(zone)
        super().__init__(note.code, note.message)
        self.details = note.details


async def zone_and_records(context: Context, account: Account, host: str) -> tuple[Zone, HostRecords]:
    """Return the zone that contains `host`, even if the zone is inactive, and the host's DNS records.

    Raises EdgeError, ServiceError (code zone_not_found) or Conflict (code account_not_ready).
    """
    check_connected(account)
    async with account_state.refusals_recorded(context, account):
        access = context.access(account).awaited()
        zone = await zones.zone_of(access, host)
        if zone is None:
            raise zone_not_found(host)
        return zone, await zones.records_of(access, zone.id, host)


async def current_zone(access: Access, host: str, zone_id: str, refusal: EdgeError) -> Zone | None:
    """Return the zone that contains `host` now, or None if there is none.

    Use this function after a call for the zone `zone_id` has failed with `refusal`.

    The function reads the zone, because Cloudflare does not document the error codes for zones that are inactive or
    have left the account. If the zone `zone_id` is still in the account, the function raises ZoneNotActive for an
    inactive zone, and `refusal` for an active zone.
    """
    if isinstance(refusal, EdgeUnavailable) and refusal.remote_status != _NOT_FOUND:
        raise refusal
    zone = await zones.zone_of(access, host)
    if zone is not None and zone.id == zone_id:
        if zone.is_active:
            raise refusal
        raise ZoneNotActive(zone) from refusal
    return zone


def zone_not_found(host: str) -> ServiceError:
    """Return the error for a host that does not belong to any of the account's zones."""
    return ServiceError("zone_not_found", f"{host} does not belong to any zone of the account.", {"host": host})


def obstacles(
    host: str, zone: Zone | None, records: HostRecords | None, *, for_links: bool = False
) -> tuple[ErrorNote, ...]:
    """Return the problems that prevent requests to `host` from reaching the Worker, with codes from SiteWarning.

    `zone`, `records`: None if unknown. `for_links`: True for a link host, which does not need an origin server.
    """
    notes = [] if zone is None or zone.is_active else [not_active(zone)]
    if records is not None and not records.proxied:
        notes.append(_not_proxied(host, records, for_links=for_links))
    return tuple(notes)


def not_active(zone: Zone) -> ErrorNote:
    """Return the error for an inactive zone."""
    status = "paused" if zone.paused else zone.status
    message = f"Zone {zone.name} is not active at Cloudflare (status: {status})."
    return ErrorNote("zone_not_active", message, {"zone": zone.name, "status": status})


def _not_proxied(host: str, records: HostRecords, *, for_links: bool) -> ErrorNote:
    record: dict[str, object] = {"name": host, "proxied": True}
    if records.unproxied is not None:
        actual = records.unproxied
        message = f"The DNS record {actual.type} {actual.name} is not proxied. Turn on its proxy (the orange cloud)."
        record |= {"type": actual.type, "name": actual.name, "content": actual.content}
    elif for_links:
        message = f"{host} has no DNS record. Create AAAA {host} with the content 100::, proxied (the orange cloud)."
        record |= {"type": "AAAA", "content": "100::"}
    else:
        message = (
            f"{host} has no DNS record. Create one (A, AAAA or CNAME) that points to the website's server, proxied (the"
            " orange cloud)."
        )
    return ErrorNote("dns_not_proxied", message, {"host": host, "record": record})


def check_connected(account: Account) -> None:
    """Raise Conflict with the code account_not_ready unless the account has a working token."""
    if account.sealed_token is None:
        raise accounts.not_ready(account, "The account is not connected.")
