"""The Cloudflare account, its zones and their DNS records.

All functions raise EdgeRefused and EdgeUnavailable.
"""

from __future__ import annotations

import ipaddress
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from svc.edge.responses import Id, Shape

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from svc.edge.access import Access

# The maximum number of hosts whose records are read with one call per host. For more hosts, all records of the zone are
# read in large pages (the API allows 5,000,000 records per page).
_HOSTS_ASKED_ONE_BY_ONE = 3
_RECORDS_A_PAGE = 1_000
_ADDRESS_RECORDS = frozenset({"A", "AAAA", "CNAME"})


@dataclass(frozen=True)
class Zone:
    """A zone. `status` (active, pending …) and `kind` (full, partial …) are Cloudflare's values."""

    id: str
    name: str
    status: str
    paused: bool
    kind: str

    @property
    def is_active(self) -> bool:
        """True if Cloudflare serves the zone's hosts, that is, if the zone is active and not paused."""
        return self.status == "active" and not self.paused

    def has_certificate(self, host: str) -> bool:
        """Return True if Cloudflare's free certificate covers `host`, which must be in this zone.

        The certificate of a full zone covers the apex and names that are one label below the apex. A partial zone has
        one certificate per host (Cloudflare docs: universal-ssl/limitations).
        """
        return self.kind == "partial" or host.lower().removesuffix(self.name).rstrip(".").count(".") == 0


@dataclass(frozen=True)
class AddressRecord:
    """An A, AAAA or CNAME record. `name` can be a wildcard."""

    type: str
    name: str
    content: str


@dataclass(frozen=True)
class HostRecords:
    """A summary of a host's DNS records.

    `proxied`: True if requests go through Cloudflare. `dummy`: True if all proxied addresses are unroutable (100::,
    192.0.2.1), which means that there is no server behind the host. `unproxied`: the first address record of a host
    without proxied records, otherwise None.
    """

    proxied: bool
    dummy: bool
    unproxied: AddressRecord | None = None


class _Account(Shape):
    name: str = ""


class _Zone(Shape):
    id: Id
    name: str
    status: str
    paused: bool = False
    type: str = "full"

    def zone(self) -> Zone:
        return Zone(self.id, self.name, self.status, self.paused, self.type)


class _Record(Shape):
    id: Id
    name: str
    type: str
    content: str | None = None
    proxied: bool | None = None

    def is_dummy(self) -> bool:
        try:
            return not ipaddress.ip_address(self.content or "").is_global
        except ValueError:
            return False  # the content is the host name of a CNAME record


async def account_name(access: Access) -> str:
    """Return the account's name in Cloudflare."""
    return (await access.get(_Account, access.account_path)).name


async def list_zones(access: Access, limit: int = 1_000) -> tuple[list[Zone], bool]:
    """Return up to `limit` zones that the token can see, sorted by name.

    The second value is True if there are more zones.
    """
    query: dict[str, str | int] = {"account.id": access.edge_account_id, "order": "name", "direction": "asc"}
    listed = await access.collect(_Zone, "/zones", query, limit + 1)
    zones = sorted((zone.zone() for zone in listed), key=lambda zone: zone.name)
    return zones[:limit], len(zones) > limit


async def zone_of(access: Access, host: str) -> Zone | None:
    """Return the active zone that serves `host`.

    If there is no active zone, return the closest zone, or None if the host has no zone.

    A host is served from its closest active zone. Cloudflare ignores other zones.
    """
    inactive = None
    labels = host.lower().split(".")
    for first in range(len(labels) - 1):
        name = ".".join(labels[first:])
        for candidate in await access.collect(_Zone, "/zones", {"account.id": access.edge_account_id, "name": name}):
            if candidate.name == name:
                zone = candidate.zone()
                if zone.is_active:
                    return zone
                inactive = inactive or zone
    return inactive


async def zone_by_id(access: Access, zone_id: str) -> Zone:
    """Return the zone with this id."""
    return (await access.get(_Zone, f"/zones/{zone_id}")).zone()


async def records_of(access: Access, zone_id: str, host: str) -> HostRecords:
    """Return a summary of the DNS records of `host`, or of the closest wildcard if the host has no records."""
    for name in _names(host):
        records = await access.collect(_Record, _records_path(zone_id), {"name": name})
        host_records = _host_records([record for record in records if record.name == name])
        if host_records is not None:
            return host_records
    return _NO_RECORDS


async def records_of_all(access: Access, zone_id: str, hosts: Collection[str]) -> dict[str, HostRecords]:
    """Return summaries of the DNS records of several hosts in one zone, by host.

    If there are many hosts, the number of calls depends only on the number of records in the zone.
    """
    if len(hosts) <= _HOSTS_ASKED_ONE_BY_ONE:
        return {host: await records_of(access, zone_id, host) for host in hosts}
    by_name: dict[str, list[_Record]] = defaultdict(list)
    for record in await access.collect(_Record, _records_path(zone_id), {"per_page": _RECORDS_A_PAGE}):
        by_name[record.name].append(record)
    by_host = {host: [_host_records(by_name[name]) for name in _names(host) if name in by_name] for host in hosts}
    return {
        host: next((each for each in summaries if each is not None), _NO_RECORDS) for host, summaries in by_host.items()
    }


def _records_path(zone_id: str) -> str:
    return f"/zones/{zone_id}/dns_records"


def _names(host: str) -> list[str]:
    """Return the names whose records can apply to the host. The records of the first existing name apply."""
    labels = host.lower().split(".")
    return [".".join(labels), *(".".join(["*", *labels[first:]]) for first in range(1, len(labels) - 1))]


def _host_records(here: Sequence[_Record]) -> HostRecords | None:
    if not here:
        return None
    proxied = [record for record in here if record.proxied and record.type in _ADDRESS_RECORDS]
    addresses = [
        AddressRecord(each.type, each.name, each.content or "") for each in here if each.type in _ADDRESS_RECORDS
    ]
    unproxied = None if proxied or not addresses else addresses[0]
    return HostRecords(bool(proxied), all(record.is_dummy() for record in proxied), unproxied)


_NO_RECORDS = HostRecords(proxied=False, dummy=False)
