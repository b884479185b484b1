"""/v1/me: the caller, its limits, and what it uses of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.http import wire
from svc.http.gate import reply, route
from svc.store import accounts, keys, links, sites

if TYPE_CHECKING:
    from quart import Response
    from quart_trio import QuartTrio

    from svc.http.deps import Deps
    from svc.http.gate import Gate
    from svc.store.tx import Tx


class Me:
    """The handler of /v1/me."""

    def __init__(self, deps: Deps, gate: Gate) -> None:
        self._store = deps.store
        self._limits = deps.config.limits
        self._gate = gate

    def add_routes(self, app: QuartTrio) -> None:
        """Put the handler under its path."""
        route(app, "GET", "/v1/me", self.show)

    async def show(self) -> Response:
        """Who asks, with which credential, and how much of what it may is used."""
        caller = await self._gate.read()
        limits = self._limits
        user = caller.user
        return reply(
            {
                "user": wire.user(user),
                "plan": user.plan,
                "limits": {
                    "accounts": limits.accounts,
                    "sites": limits.sites,
                    "links": limits.links,
                    "keys": limits.keys_api if user.plan == "api" else limits.keys_free,
                    "requests_per_minute": limits.requests_per_minute,
                    "report_reads_per_minute": limits.report_reads_per_minute,
                },
                "use": await self._store.read(_use(user.id)),
                "via": "session" if caller.key is None else "key",
            }
        )


def _use(user_id: int) -> Tx[dict[str, int]]:
    """How much of its limits a user uses; what is deleted does not count."""
    return {
        "accounts": len((yield from accounts.list_accounts(user_id))),
        "sites": (yield from sites.count_sites(user_id)),
        "links": (yield from links.count_links(user_id)),
        "keys": len((yield from keys.list_keys(user_id))),
    }
