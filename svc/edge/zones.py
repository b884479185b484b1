"""The account itself, its zones, their DNS records.

Every function raises EdgeRefused, EdgeUnavailable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from svc.edge.answers import Id, Shape

if TYPE_CHECKING:
    from svc.edge.access import Access

_ADDRESS_RECORDS = frozenset({"A", "AAAA", "CNAME"})


@dataclass(frozen=True)
class Zone:
    """A zone of the account; `status` is the platform's own word (active, pending, moved…)."""

    id: str
    name: str
    status: str
    paused: bool


class _Account(Shape):
    name: str = ""


class _Zone(Shape):
    id: Id
    name: str
    status: str
    paused: bool = False


class _Record(Shape):
    id: Id
    name: str
    type: str
    proxied: bool = False


async def account_name(access: Access) -> str:
    """The account's name at the platform."""
    return (await access.get(_Account, access.account_path)).name


async def list_zones(access: Access, limit: int = 1_000) -> tuple[list[Zone], bool]:
    """The zones that the token sees, sorted by name, at most `limit`; and whether there are more."""
    query: dict[str, str | int] = {"account.id": access.edge_account_id, "order": "name", "direction": "asc"}
    found = await access.collect(_Zone, "/zones", query, limit + 1)
    zones = sorted((Zone(zone.id, zone.name, zone.status, zone.paused) for zone in found), key=lambda zone: zone.name)
    return zones[:limit], len(zones) > limit


async def zone_of(access: Access, host: str) -> Zone | None:
    """The active zone that `host` is the apex of, or lies in: the closest one."""
    labels = host.lower().split(".")
    for first in range(len(labels) - 1):
        name = ".".join(labels[first:])
        for zone in await access.collect(_Zone, "/zones", {"account.id": access.edge_account_id, "name": name}):
            if zone.name == name and zone.status == "active" and not zone.paused:
                return Zone(zone.id, zone.name, zone.status, zone.paused)
    return None


async def has_proxied_record(access: Access, zone_id: str, host: str) -> bool:
    """Whether the platform's network answers for `host`: its own record, else the closest wildcard, is proxied.

    A record of any kind at the name itself keeps wildcards out, as in all DNS.
    """
    labels = host.lower().split(".")
    names = [".".join(labels), *(".".join(["*", *labels[first:]]) for first in range(1, len(labels) - 1))]
    for name in names:
        records = await access.collect(_Record, f"/zones/{zone_id}/dns_records", {"name": name})
        here = [record for record in records if record.name == name]
        if here:
            return any(record.proxied for record in here if record.type in _ADDRESS_RECORDS)
    return False
