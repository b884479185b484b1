"""Routes at Cloudflare, which send a host's requests to the Worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

RouteState = Literal["route_pending", "active", "route_conflict"]


@dataclass(frozen=True)
class ObsoleteRoute:
    """A route to remove at Cloudflare. `site_id`: the route's site; None if the route belonged to the link host.

    `again_at`: when to search again for a route that may have been created but was not found (epoch ms).
    """

    account_id: str
    zone_id: str
    host: str
    pattern: str
    route_id: str | None  # None if the route was never created, or its creation was not confirmed
    site_id: str | None = None
    again_at: int | None = None


def site_pattern(host: str, path: str) -> str:
    """Return the route pattern of a site's counter. It matches the path with any script name or query."""
    return f"{host}{path}*"


def link_pattern(host: str) -> str:
    """Return the route pattern that covers all paths of a link host."""
    return f"{host}/*"
