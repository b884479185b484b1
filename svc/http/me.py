"""/v1/me: the caller, its limits, and what it uses of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.api import me as api
from svc.store import accounts, keys, links, sites

if TYPE_CHECKING:
    from svc.api.shape import NoQuery
    from svc.http.deps import Deps
    from svc.http.serve import Read, Serve
    from svc.store.tx import Tx


class Me:
    """The handler of /v1/me."""

    def __init__(self, deps: Deps, serve: Serve) -> None:
        self._store = deps.store
        self._limits = deps.config.limits
        serve.read(api.SHOW, self.show)

    async def show(self, read: Read[NoQuery]) -> api.Caller:
        """Who asks, with which credential, and how much of what it may is used."""
        limits, user = self._limits, read.caller.user
        return api.Caller(
            user=api.User.model_validate(user),
            plan=user.plan,
            limits=api.Limits(
                accounts=limits.accounts,
                sites=limits.sites,
                links=limits.links,
                keys=limits.keys_of(user.plan),
                requests_per_minute=limits.requests_per_minute,
                report_reads_per_minute=limits.report_reads_per_minute,
            ),
            use=await self._store.read(_use(user.id)),
            via="session" if read.caller.key is None else "key",
        )


def _use(user_id: int) -> Tx[api.Use]:
    return api.Use(
        accounts=len((yield from accounts.list_accounts(user_id))),
        sites=(yield from sites.count_sites(user_id)),
        links=(yield from links.count_links(user_id)),
        keys=len((yield from keys.list_keys(user_id))),
    )
