"""Worker routes of a zone (platform docs: routing/routes)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from svc.edge.answers import Id, Shape

if TYPE_CHECKING:
    from svc.edge.client import Access


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


async def list_routes(at: Access, zone_id: str) -> list[Route]:
    """Every route of the zone; the platform gives them at once."""
    found = await at.get(list[_Route], _path(zone_id))
    return [Route(route.id, route.pattern, route.script) for route in found]


async def create(at: Access, zone_id: str, pattern: str, script: str, *, fail_open: bool = True) -> Route:
    """Make a route. Never repeated; raises EdgeRefused route_conflict, EdgeUnknown.

    `fail_open`: past the account's daily requests the origin answers, instead of an error page.
    """
    body = {"pattern": pattern, "script": script, "request_limit_fail_open": fail_open}
    made = await at.call(_Id, "POST", _path(zone_id), body=body, repeatable=False)
    return Route(made.id, pattern, script)  # the answer's own fields were once blank


async def delete(at: Access, zone_id: str, route_id: str) -> bool:
    """Delete a route. False: it was gone."""
    return await at.delete(f"{_path(zone_id)}/{route_id}")


def _path(zone_id: str) -> str:
    return f"/zones/{zone_id}/workers/routes"
