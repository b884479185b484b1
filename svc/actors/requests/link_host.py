"""Sets an account's link host, which is the host of its short links, and reads the link host's usage."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

from svc.actors.checks import account_state
from svc.actors.requests.live_reads import Unavailable, query
from svc.actors.requests.zones import obstacles, zone_and_records
from svc.clock import day_of
from svc.errors import Conflict, ServiceError
from svc.model import LinkHostUsage
from svc.store import accounts, link_hosts
from svc.store.link_lists import clicks_of_account
from svc.worker.qr_scans import scan_statements, scans_of

if TYPE_CHECKING:
    from svc.actors.context import Commit, Context
    from svc.actors.requests.live_reads import LiveReads
    from svc.edge.access import Access
    from svc.edge.zones import HostRecords, Zone
    from svc.model import Account, LinkHost, LinkHostRequest
    from svc.store.tx import Tx
    from svc.worker.qr_scans import Scans

R = TypeVar("R")

# The number of days, including today, that the usage of a link host covers.
USAGE_DAYS = 30


class PutLinkHost(NamedTuple):
    """The result of setting a link host.

    `replaced`: the previous host. None if there was none, or if the host is unchanged.

    `clicks`: the clicks on the account's links in the last 30 days, or None if they were not requested.
    """

    link_host: LinkHost
    replaced: str | None
    clicks: int | None


async def put(
    context: Context, account_id: str, wanted: LinkHostRequest, today: int | None, commit: Commit[PutLinkHost, R]
) -> R:
    """Set or replace the link host. Links keep their codes. A duty then creates the route.

    `today`: the current epoch day, for counting the recent clicks if the host is replaced. None if the clicks are not
    needed.

    Raises EdgeError, Conflict (codes account_not_ready, link_host_is_website and link_host_without_certificate) or
    ServiceError (codes zone_not_found, zone_not_active and dns_not_proxied). Raises Invalid if a link or a fallback URL
    of the account points to this host.
    """
    account = accounts.present(await context.store.read(accounts.account_by_id(account_id)))
    account_state.check_state(account, ("ready",), "a link host needs it to be ready")
    zone, records = await zone_and_records(context, account, wanted.host)
    for note in obstacles(wanted.host, zone, records, for_links=True):
        raise ServiceError(note.code, note.message, note.details)
    if account.link_host is None or account.link_host.host != wanted.host:
        _check_certificate(zone, wanted)
        _check_no_website(zone, records, wanted)
    return await context.store.run(commit(_put(account_id, wanted, zone.id, today)))


def _put(account_id: str, wanted: LinkHostRequest, zone_id: str, today: int | None) -> Tx[PutLinkHost]:
    before = yield from link_hosts.get_link_host(account_id)
    host = yield from link_hosts.put_link_host(account_id, wanted.host, zone_id, wanted.fallbacks)
    replaced = before.host if before is not None and before.host != host.host else None
    clicks: int | None = None
    if replaced is not None and today is not None:
        clicks = yield from clicks_of_account(account_id, today - USAGE_DAYS + 1, today)
    return PutLinkHost(host, replaced, clicks)


async def usage(context: Context, live_reads: LiveReads, user_id: int, account: Account) -> LinkHostUsage:
    """Return the link host's usage (clicks and QR code scans) in the last 30 days, including today.

    Raises Conflict with the code link_host_required.

    The scan counts come from the Worker's database, because the store has no breakdowns.
    """
    if account.link_host is None:
        raise Conflict("link_host_required")
    today = day_of(context.clock())
    first_day = today - USAGE_DAYS + 1
    clicks = await context.store.read(clicks_of_account(account.id, first_day, today))

    async def read(access: Access, database_id: str) -> Scans:
        return scans_of(await query(scan_statements(first_day, today), access, database_id), first_day)

    read_result = await live_reads.ask(user_id, account, ("scans", today), read)
    if isinstance(read_result, Unavailable):
        return LinkHostUsage(account.link_host.host, first_day, clicks, None, None, read_result.reason)
    return LinkHostUsage(account.link_host.host, first_day, clicks, read_result.scans, read_result.since, None)


def _check_certificate(zone: Zone, wanted: LinkHostRequest) -> None:
    """Raise Conflict with the code link_host_without_certificate if no certificate covers the host.

    Without a certificate, browsers cannot open links on the host.
    """
    if not zone.has_certificate(wanted.host) and not wanted.has_certificate:
        raise Conflict(
            "link_host_without_certificate",
            f"The free certificate of zone {zone.name} covers only one label below it. Browsers would reject"
            f" {wanted.host}.",
            {"host": wanted.host, "zone": zone.name},
        )


def _check_no_website(zone: Zone, records: HostRecords, wanted: LinkHostRequest) -> None:
    """Raise Conflict with the code link_host_is_website if the host serves a website.

    The route would make the website unreachable.

    The website becomes reachable again when the route is removed, because the service does not change any DNS records.
    """
    if records.dummy or wanted.replace_website:
        return
    is_main = wanted.host in (zone.name, f"www.{zone.name}")
    which = "is the zone's main host, and its DNS record" if is_main else "has a DNS record that"
    raise Conflict(
        "link_host_is_website",
        f"{wanted.host} {which} points to a server. A website there is unreachable while the host is the link host; the"
        " DNS record is not changed. To use the host anyway, send `replace_website: true`.",
        {"host": wanted.host, "why": "main_host" if is_main else "record"},
    )
