"""The account itself, its zones, their DNS records.

Every function raises EdgeRefused, EdgeUnavailable.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from svc.edge.answers import Id, Shape

if TYPE_CHECKING:
    from svc.edge.access import Access

_ADDRESS_RECORDS = frozenset({"A", "AAAA", "CNAME"})


@dataclass(frozen=True)
class Zone:
    """A zone of the account; `status` and `kind` are the platform's own words (active, pending…; full, partial…)."""

    id: str
    name: str
    status: str
    paused: bool
    kind: str

    def has_certificate(self, host: str) -> bool:
        """Whether the platform's free certificate covers `host`, which lies in the zone.

        A full zone's covers the apex and one label below it; a partial zone has one for each host (platform docs:
        universal-ssl/limitations).
        """
        return self.kind == "partial" or host.lower().removesuffix(self.name).rstrip(".").count(".") == 0


@dataclass(frozen=True)
class HostRecords:
    """What DNS says of a host. `proxied`: the platform's network answers for it.

    `dummy`: behind it is nothing, as its addresses are in no network (100::, 192.0.2.1): it is there for workers only.
    """

    proxied: bool
    dummy: bool


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
    """The active zone that `host` is the apex of, or lies in: the closest one."""
    labels = host.lower().split(".")
    for first in range(len(labels) - 1):
        name = ".".join(labels[first:])
        for zone in await access.collect(_Zone, "/zones", {"account.id": access.edge_account_id, "name": name}):
            if zone.name == name and zone.status == "active" and not zone.paused:
                return zone.zone()
    return None


async def records_of(access: Access, zone_id: str, host: str) -> HostRecords:
    """What DNS says of `host`: its own records, else those of the closest wildcard.

    A record of any kind at the name itself keeps wildcards out, as in all DNS.
    """
    labels = host.lower().split(".")
    names = [".".join(labels), *(".".join(["*", *labels[first:]]) for first in range(1, len(labels) - 1))]
    for name in names:
        records = await access.collect(_Record, f"/zones/{zone_id}/dns_records", {"name": name})
        here = [record for record in records if record.name == name]
        if here:
            proxied = [record for record in here if record.proxied and record.type in _ADDRESS_RECORDS]
            return HostRecords(bool(proxied), dummy=all(record.is_dummy() for record in proxied))
    return HostRecords(proxied=False, dummy=False)
