"""Whether the service lives, and whether it can work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from svc.errors import ServiceError
from svc.http.gate import reply, route
from svc.store.tx import sql

if TYPE_CHECKING:
    from quart import Response
    from quart_trio import QuartTrio

    from svc.http.app import Deps
    from svc.store.tx import Tx

# A store that takes longer than this for the smallest question is not one to send requests to.
_READY_S = 2.0


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
        """The store answers. Raises ServiceError busy."""
        with trio.move_on_after(_READY_S):
            await self._store.read(_smallest())
            return reply({"ok": True})
        raise ServiceError("busy", "The store does not answer.", retry_after_s=5)


def _smallest() -> Tx[None]:
    yield sql("select count(*) as n from users where id = 0")
