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
    """A pattern and the script that gets its requests; None: no worker at all.

    `fail_open`: past the account's daily requests the origin answers, instead of an error page; None: not told.
    """

    id: str
    pattern: str
    script: str | None
    fail_open: bool | None = None

    @property
    def holder(self) -> str:
        """What gets its requests, in words."""
        return f"the worker {self.script}" if self.script else "a route without a worker"


class _Route(Shape):
    id: Id
    pattern: str
    script: str | None = None
    request_limit_fail_open: bool | None = None


class _Made(Shape):
    id: Id
    request_limit_fail_open: bool | None = None


async def list_routes(access: Access, zone_id: str) -> list[Route]:
    """Every route of the zone; the platform gives them at once."""
    found = await access.get(list[_Route], _path(zone_id))
    return [Route(route.id, route.pattern, route.script, route.request_limit_fail_open) for route in found]


async def create(access: Access, zone_id: str, pattern: str, script: str, *, fail_open: bool) -> Route:
    """Make a route. Never repeated. Raises EdgeRefused route_conflict where the pattern has one.

    `fail_open` is in the platform's changelog and not in its schema: the route tells what became of it.
    """
    body = {"pattern": pattern, "script": script, "request_limit_fail_open": fail_open}
    made = await access.call(_Made, "POST", _path(zone_id), body=body, repeatable=False)
    # The answer's own pattern and script were once blank.
    return Route(made.id, pattern, script, made.request_limit_fail_open)


async def delete(access: Access, zone_id: str, route_id: str) -> bool:
    """Delete a route. False: it was gone."""
    return await access.delete(f"{_path(zone_id)}/{route_id}", _GONE)


def _path(zone_id: str) -> str:
    return f"/zones/{zone_id}/workers/routes"
