"""The account itself, its zones, their DNS records.

Every function raises EdgeRefused, EdgeUnavailable.
"""

from __future__ import annotations

import ipaddress
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from svc.edge.answers import Id, Shape

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from svc.edge.access import Access

# Of more hosts of a zone all of its records are read, in large pages (the API's reference allows up to 5,000,000).
_HOSTS_ASKED_ONE_BY_ONE = 3
_RECORDS_A_PAGE = 1_000
_ADDRESS_RECORDS = frozenset({"A", "AAAA", "CNAME"})


@dataclass(frozen=True)
class Zone:
    """A zone of the account; `status` and `kind` are the platform's own words (active, pending…; full, partial…)."""

    id: str
    name: str
    status: str
    paused: bool
    kind: str

    @property
    def is_active(self) -> bool:
        """Whether the platform serves the zone's hosts: its name servers are in use, and it is not paused."""
        return self.status == "active" and not self.paused

    def has_certificate(self, host: str) -> bool:
        """Whether the platform's free certificate covers `host`, which lies in the zone.

        A full zone's covers the apex and one label below it; a partial zone has one for each host (platform docs:
        universal-ssl/limitations).
        """
        return self.kind == "partial" or host.lower().removesuffix(self.name).rstrip(".").count(".") == 0


@dataclass(frozen=True)
class AddressRecord:
    """A DNS record (A, AAAA, CNAME) that leads to a server; `name` may be a wildcard."""

    type: str
    name: str
    content: str


@dataclass(frozen=True)
class HostRecords:
    """What DNS says of a host. `proxied`: the platform's network answers for it.

    `dummy`: behind it is nothing, as its addresses are in no network (100::, 192.0.2.1): it is there for workers only.
    `unproxied`: the first of its address records, where none is proxied; None: it has no address record.
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
            return False  # another name


async def account_name(access: Access) -> str:
    """The account's name at the platform."""
    return (await access.get(_Account, access.account_path)).name


async def list_zones(access: Access, limit: int = 1_000) -> tuple[list[Zone], bool]:
    """The zones that the token sees, sorted by name, at most `limit`; and whether there are more."""
    query: dict[str, str | int] = {"account.id": access.edge_account_id, "order": "name", "direction": "asc"}
    found = await access.collect(_Zone, "/zones", query, limit + 1)
    zones = sorted((zone.zone() for zone in found), key=lambda zone: zone.name)
    return zones[:limit], len(zones) > limit


async def zone_of(access: Access, host: str) -> Zone | None:
    """The zone that `host` is the apex of, or lies in: the closest active one, else the closest one.

    The platform answers for a host in the closest active zone, so one that is not active yet changes nothing.
    """
    inactive = None
    labels = host.lower().split(".")
    for first in range(len(labels) - 1):
        name = ".".join(labels[first:])
        for found in await access.collect(_Zone, "/zones", {"account.id": access.edge_account_id, "name": name}):
            if found.name == name:
                zone = found.zone()
                if zone.is_active:
                    return zone
                inactive = inactive or zone
    return inactive


async def zone_by_id(access: Access, zone_id: str) -> Zone:
    """The zone with this id."""
    return (await access.get(_Zone, f"/zones/{zone_id}")).zone()


async def records_of(access: Access, zone_id: str, host: str) -> HostRecords:
    """What DNS says of `host`: its own records, else those of the closest wildcard."""
    for name in _names(host):
        records = await access.collect(_Record, _records_path(zone_id), {"name": name})
        found = _host_records([record for record in records if record.name == name])
        if found is not None:
            return found
    return _NO_RECORDS


async def records_of_all(access: Access, zone_id: str, hosts: Collection[str]) -> dict[str, HostRecords]:
    """What DNS says of each of the hosts, which lie in one zone: many hosts cost no more calls than a few."""
    if len(hosts) <= _HOSTS_ASKED_ONE_BY_ONE:
        return {host: await records_of(access, zone_id, host) for host in hosts}
    by_name: dict[str, list[_Record]] = defaultdict(list)
    for record in await access.collect(_Record, _records_path(zone_id), {"per_page": _RECORDS_A_PAGE}):
        by_name[record.name].append(record)
    found = {host: [_host_records(by_name[name]) for name in _names(host) if name in by_name] for host in hosts}
    return {host: next((one for one in records if one is not None), _NO_RECORDS) for host, records in found.items()}


def _records_path(zone_id: str) -> str:
    return f"/zones/{zone_id}/dns_records"


def _names(host: str) -> list[str]:
    """The names whose records tell of the host, the first that has any; a record of any kind keeps wildcards out."""
    labels = host.lower().split(".")
    return [".".join(labels), *(".".join(["*", *labels[first:]]) for first in range(1, len(labels) - 1))]


def _host_records(here: Sequence[_Record]) -> HostRecords | None:
    if not here:
        return None
    proxied = [record for record in here if record.proxied and record.type in _ADDRESS_RECORDS]
    addresses = [AddressRecord(one.type, one.name, one.content or "") for one in here if one.type in _ADDRESS_RECORDS]
    unproxied = None if proxied or not addresses else addresses[0]
    return HostRecords(bool(proxied), all(record.is_dummy() for record in proxied), unproxied)


_NO_RECORDS = HostRecords(proxied=False, dummy=False)
