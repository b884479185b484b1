"""A zone's Worker routes (Cloudflare docs: routing/routes).

All functions raise EdgeRefused and EdgeUnavailable. Functions whose calls are never retried also raise EdgeUnknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from svc.edge.responses import Id, Shape

if TYPE_CHECKING:
    from svc.edge.access import Access


_GONE = frozenset({10009})  # Cloudflare docs, Workers error codes: the route does not exist


@dataclass(frozen=True)
class Route:
    """A URL pattern and the script that receives the matching requests.

    `script`: None means that no Worker receives the requests. `fail_open`: determines what happens to requests beyond
    the account's daily limit. If True, the origin receives them. If False, they fail with an error page. None if
    Cloudflare did not report the value.
    """

    id: str
    pattern: str
    script: str | None
    fail_open: bool | None = None

    @property
    def holder(self) -> str:
        """The script that receives the route's requests, as text for messages."""
        return f"the Worker {self.script}" if self.script else "a route without a Worker"


class _Route(Shape):
    id: Id
    pattern: str
    script: str | None = None
    request_limit_fail_open: bool | None = None


class _Made(Shape):
    id: Id
    request_limit_fail_open: bool | None = None


async def list_routes(access: Access, zone_id: str) -> list[Route]:
    """Return all routes of the zone. The API does not paginate this list."""
    listed = await access.get(list[_Route], _path(zone_id))
    return [Route(route.id, route.pattern, route.script, route.request_limit_fail_open) for route in listed]


async def create(access: Access, zone_id: str, pattern: str, script: str, *, fail_open: bool) -> Route:
    """Create a route.

    The call is never retried. Raises EdgeRefused with the code route_conflict if the pattern already has a route.

    `fail_open` is not in the API schema, only in Cloudflare's changelog. The returned route shows whether Cloudflare
    set it.
    """
    body = {"pattern": pattern, "script": script, "request_limit_fail_open": fail_open}
    made = await access.call(_Made, "POST", _path(zone_id), body=body, repeatable=False)
    # Do not use the response's pattern and script, because they are sometimes blank.
    return Route(made.id, pattern, script, made.request_limit_fail_open)


async def delete(access: Access, zone_id: str, route_id: str) -> bool:
    """Delete a route. Return False if it did not exist."""
    return await access.delete(f"{_path(zone_id)}/{route_id}", _GONE)


def _path(zone_id: str) -> str:
    return f"/zones/{zone_id}/workers/routes"
