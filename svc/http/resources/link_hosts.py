"""/v1/accounts/{account_id}/link-host: the host of an account's links."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.actors.requests import link_host
from svc.api import link_hosts as api
from svc.clock import day_of
from svc.http.serving.visible import visible_account
from svc.store import link_hosts

if TYPE_CHECKING:
    from collections.abc import Callable

    from svc.actors.requests.link_host import PutLinkHost
    from svc.api.shape import NoQuery
    from svc.http.serving.deps import Deps
    from svc.http.serving.endpoints import Endpoints
    from svc.http.serving.requests import Read, Write
    from svc.model import Account, LinkHost
    from svc.store.idempotency import StoredResponse


class LinkHosts:
    """The handlers of /v1/accounts/{account_id}/link-host."""

    def __init__(self, deps: Deps, endpoints: Endpoints) -> None:
        self._context = deps.context
        self._supervisor = deps.supervisor
        endpoints.write(api.PUT, self.put)
        endpoints.write(api.CHANGE, self.change)
        endpoints.read(api.USAGE, self.usage)

    async def put(self, write: Write[api.PutLinkHost]) -> StoredResponse:
        """Set or replace the host of the account's short links."""
        account = await visible_account(self._context.store, write.caller, write.id)
        commit = write.commit(_put(account), about=account)
        today = day_of(self._context.clock()) if write.caller.has_any_scope("reports") else None
        response = await link_host.put(self._context, account.id, write.body.wish(), today, commit)
        # Wake the actor even if nothing changed. If the actor failed to create the route before, it now retries,
        # because the user may have fixed the cause.
        self._supervisor.wake(account.edge_account_id)
        return response

    async def change(self, write: Write[api.LinkHostChange]) -> StoredResponse:
        """Change the fallback URLs of the link host."""
        account = await visible_account(self._context.store, write.caller, write.id)
        commit = write.commit(_one(account), about=account)
        changed = link_hosts.change_link_host(account.id, write.body.fallbacks())
        return await self._context.store.run(commit(changed))

    async def usage(self, read: Read[NoQuery]) -> api.OneLinkHostUsage:
        """Return the number of clicks and QR code scans on the link host in the last 30 days."""
        account = await visible_account(self._context.store, read.caller, read.id)
        reads = self._supervisor.live_reads
        usage = await link_host.usage(self._context, reads, read.caller.user.id, account)
        return api.OneLinkHostUsage(usage=api.LinkHostUsage.from_model(usage))


def _put(account: Account) -> Callable[[PutLinkHost], api.OneLinkHost]:
    """Return a function that renders the new link host of this account, and the one that it replaced."""

    def render(put: PutLinkHost) -> api.OneLinkHost:
        replaced = None
        if put.replaced is not None and put.clicks is not None:
            replaced = api.ReplacedLinkHost(host=put.replaced, clicks_30d=put.clicks)
        host = api.LinkHost.from_model(put.link_host, account.synced_version)
        return api.OneLinkHost(link_host=host, replaced=replaced)

    return render


def _one(account: Account) -> Callable[[LinkHost], api.OneLinkHost]:
    """Return a function that renders the link host of this account."""
    return lambda host: api.OneLinkHost(link_host=api.LinkHost.from_model(host, account.synced_version))
