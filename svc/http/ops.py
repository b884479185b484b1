"""Whether the service lives, and whether it can work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.errors import StoreUnavailable
from svc.http.gate import reply, route

if TYPE_CHECKING:
    from quart import Response
    from quart_trio import QuartTrio

    from svc.http.deps import Deps


class Ops:
    """The handlers of /healthz and /readyz."""

    def __init__(self, deps: Deps) -> None:
        self._store = deps.store

    def add_routes(self, app: QuartTrio) -> None:
        """Put the handlers under their paths."""
        route(app, "GET", "/healthz", self.alive)
        route(app, "GET", "/readyz", self.ready)

    async def alive(self) -> Response:
        """The process answers."""
        return reply({"ok": True})

    async def ready(self) -> Response:
        """The store can be read and written, as far as is known: asking costs nothing. Raises StoreUnavailable."""
        trouble = self._store.condition.trouble
        if trouble is not None:
            raise StoreUnavailable(trouble)
        return reply({"ok": True})
