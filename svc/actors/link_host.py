"""The link host of an account: the host on which its short links live."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from svc.actors import health
from svc.actors.zones import proxied_host
from svc.errors import Conflict
from svc.store import accounts, link_hosts

if TYPE_CHECKING:
    from svc.actors.context import Commit, Context
    from svc.edge.zones import HostRecords, Zone
    from svc.model import LinkHost, LinkHostWish

R = TypeVar("R")


async def put(context: Context, account_id: str, wish: LinkHostWish, commit: Commit[LinkHost, R]) -> R:
    """Set or replace the link host; links keep their codes. The route is made by the duty after this.

    Raises Conflict account_not_ready, link_host_is_website, link_host_without_certificate; ServiceError zone_not_found
    (no zone, or no proxied DNS record); Invalid (the account's links do not allow this host); EdgeError.
    """
    account = accounts.present(await context.store.read(accounts.account_by_id(account_id)))
    health.check_state(account, ("ready",), "a link host needs it to be ready")
    zone, records = await proxied_host(context, account, wish.host)
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
    """Raises Conflict link_host_is_website: the link host's route takes all of the host, its pages would be gone."""
    if records.dummy:
        return  # nothing is behind it
    if wish.host in (zone.name, f"www.{zone.name}"):
        text = f"{wish.host} is the zone's main host, and its DNS record leads to a server."
        raise _website(wish, "main_host", text)
    if not wish.replace_website:
        raise _website(wish, "record", f"The DNS record of {wish.host} leads to a server.")


def _website(wish: LinkHostWish, why: str, message: str) -> Conflict:
    return Conflict(
        "link_host_is_website",
        f"{message} As link host it would show nothing but links.",
        {"host": wish.host, "why": why},
    )
