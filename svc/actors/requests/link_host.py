"""The link host of an account: the host on which its short links live."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from svc.actors.checks import account_state
from svc.actors.requests.zones import obstacles, zone_and_records
from svc.errors import Conflict, ServiceError
from svc.store import accounts, link_hosts

if TYPE_CHECKING:
    from svc.actors.context import Commit, Context
    from svc.edge.zones import HostRecords, Zone
    from svc.model import LinkHost, LinkHostWish

R = TypeVar("R")


async def put(context: Context, account_id: str, wish: LinkHostWish, commit: Commit[LinkHost, R]) -> R:
    """Set or replace the link host; links keep their codes. The route is made by the duty after this.

    Raises Conflict account_not_ready, link_host_is_website, link_host_without_certificate; ServiceError zone_not_found,
    zone_not_active, dns_not_proxied; Invalid (the account's links do not allow this host); EdgeError.
    """
    account = accounts.present(await context.store.read(accounts.account_by_id(account_id)))
    account_state.check_state(account, ("ready",), "a link host needs it to be ready")
    zone, records = await zone_and_records(context, account, wish.host)
    for note in obstacles(wish.host, zone, records, for_links=True):
        raise ServiceError(note.code, note.message, note.details)
    if account.link_host is None or account.link_host.host != wish.host:
        _check_certificate(zone, wish)
        _check_no_website(zone, records, wish)
    return await context.store.run(commit(link_hosts.put_link_host(account_id, wish.host, zone.id)))


def _check_certificate(zone: Zone, wish: LinkHostWish) -> None:
    """Raises Conflict link_host_without_certificate: browsers would refuse every link, also the printed ones."""
    if not zone.has_certificate(wish.host) and not wish.has_certificate:
        raise Conflict(
            "link_host_without_certificate",
            f"The free certificate of zone {zone.name} covers one label below it: browsers would refuse {wish.host}.",
            {"host": wish.host, "zone": zone.name},
        )


def _check_no_website(zone: Zone, records: HostRecords, wish: LinkHostWish) -> None:
    """Raises Conflict link_host_is_website: the link host's route takes all of the host, its pages would be gone.

    The service changes no DNS record, so the website is back as soon as the route is removed.
    """
    if records.dummy or wish.replace_website:
        return
    is_main = wish.host in (zone.name, f"www.{zone.name}")
    which = "is the zone's main host, and its DNS record" if is_main else "has a DNS record that"
    raise Conflict(
        "link_host_is_website",
        f"{wish.host} {which} leads to a server. While it is the link host, the website on it is unreachable; the DNS"
        " record stays as it is. To use the host anyway, send `replace_website: true`.",
        {"host": wish.host, "why": "main_host" if is_main else "record"},
    )
