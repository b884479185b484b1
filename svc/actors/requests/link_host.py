"""The link host of an account: the host of its short links."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from svc.actors.checks import account_state
from svc.actors.requests.zones import obstacles, zone_and_records
from svc.errors import Conflict, ServiceError
from svc.store import accounts, link_hosts

if TYPE_CHECKING:
    from svc.actors.context import Commit, Context
    from svc.edge.zones import HostRecords, Zone
    from svc.model import LinkHost, LinkHostRequest

R = TypeVar("R")


async def put(context: Context, account_id: str, wish: LinkHostRequest, commit: Commit[LinkHost, R]) -> R:
    """Set or replace the link host. Links keep their codes. A duty creates the route afterwards.

    Raises Conflict account_not_ready, link_host_is_website, link_host_without_certificate; ServiceError zone_not_found,
    zone_not_active, dns_not_proxied; EdgeError. Raises Invalid if the account's links or fallback URLs do not
    allow this host.
    """
    account = accounts.present(await context.store.read(accounts.account_by_id(account_id)))
    account_state.check_state(account, ("ready",), "a link host needs it to be ready")
    zone, records = await zone_and_records(context, account, wish.host)
    for note in obstacles(wish.host, zone, records, for_links=True):
        raise ServiceError(note.code, note.message, note.details)
    if account.link_host is None or account.link_host.host != wish.host:
        _check_certificate(zone, wish)
        _check_no_website(zone, records, wish)
    return await context.store.run(commit(link_hosts.put_link_host(account_id, wish.host, zone.id, wish.fallbacks)))


def _check_certificate(zone: Zone, wish: LinkHostRequest) -> None:
    """Raise Conflict link_host_without_certificate if no certificate covers the host.

    Without a certificate, browsers would reject every link.
    """
    if not zone.has_certificate(wish.host) and not wish.has_certificate:
        raise Conflict(
            "link_host_without_certificate",
            f"The free certificate of zone {zone.name} covers only one label below it. Browsers would reject"
            f" {wish.host}.",
            {"host": wish.host, "zone": zone.name},
        )


def _check_no_website(zone: Zone, records: HostRecords, wish: LinkHostRequest) -> None:
    """Raise Conflict link_host_is_website if the host has a website, which the route would make unreachable.

    The service does not change any DNS records, so the website is reachable again once the route is removed.
    """
    if records.dummy or wish.replace_website:
        return
    is_main = wish.host in (zone.name, f"www.{zone.name}")
    which = "is the zone's main host, and its DNS record" if is_main else "has a DNS record that"
    raise Conflict(
        "link_host_is_website",
        f"{wish.host} {which} points to a server. A website there is unreachable while this is the link host; the DNS"
        " record is not changed. To use the host anyway, send `replace_website: true`.",
        {"host": wish.host, "why": "main_host" if is_main else "record"},
    )
