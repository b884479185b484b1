"""/v1/accounts/{id}/zones: list the zones of a Cloudflare account."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.actors.requests import zones
from svc.api import zones as api
from svc.http.serving.visible import visible_account

if TYPE_CHECKING:
    from svc.api.shape import NoQuery
    from svc.http.serving.deps import Deps
    from svc.http.serving.endpoints import Endpoints
    from svc.http.serving.requests import Read


class Zones:
    """The handler of the list of zones."""

    def __init__(self, deps: Deps, endpoints: Endpoints) -> None:
        self._context = deps.context
        endpoints.read(api.ZONES, self.list)

    async def list(self, read: Read[NoQuery]) -> api.Zones:
        """Return the zones of the Cloudflare account, which are read from Cloudflare during the request."""
        account = await visible_account(self._context.store, read.caller, read.id)
        listed, truncated = await zones.list_zones(self._context, account)
        return api.Zones(
            zones=tuple(api.Zone(name=zone.name, status=zone.status) for zone in listed), truncated=truncated
        )
