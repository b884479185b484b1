"""Worker routes of a zone (platform docs: routing/routes).

Every function raises EdgeRefused, EdgeUnavailable; those that are never repeated also EdgeUnknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from svc.edge.answers import Id, Shape

if TYPE_CHECKING:
    from svc.edge.access import Access


_GONE = frozenset({10009})  # platform docs: Workers error codes; the route does not exist


@dataclass(frozen=True)
class Route:
    """A pattern and the script that gets its requests; None: no worker at all."""

    id: str
    pattern: str
    script: str | None


class _Route(Shape):
    id: Id
    pattern: str
    script: str | None = None


class _Id(Shape):
    id: Id


async def list_routes(access: Access, zone_id: str) -> list[Route]:
    """Every route of the zone; the platform gives them at once."""
    found = await access.get(list[_Route], _path(zone_id))
    return [Route(route.id, route.pattern, route.script) for route in found]


async def create(access: Access, zone_id: str, pattern: str, script: str, *, fail_open: bool = True) -> Route:
    """Make a route. Never repeated. Raises EdgeRefused route_conflict where the pattern has one.

    `fail_open`: past the account's daily requests the origin answers, instead of an error page.
    """
    body = {"pattern": pattern, "script": script, "request_limit_fail_open": fail_open}
    made = await access.call(_Id, "POST", _path(zone_id), body=body, repeatable=False)
    return Route(made.id, pattern, script)  # the answer's own fields were once blank


async def delete(access: Access, zone_id: str, route_id: str) -> bool:
    """Delete a route. False: it was gone."""
    return await access.delete(f"{_path(zone_id)}/{route_id}", _GONE)


def _path(zone_id: str) -> str:
    return f"/zones/{zone_id}/workers/routes"
