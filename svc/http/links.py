"""/v1/links: short links and their QR codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quart import Response

from svc.api import links as api
from svc.clock import day_of
from svc.errors import Conflict, NotFound
from svc.http import qr
from svc.http.visible import readable_link, visible_account, visible_link
from svc.store import accounts, links

if TYPE_CHECKING:
    from collections.abc import Callable

    from svc.api.shape import NoBody, NoQuery
    from svc.api.sites import ListQuery
    from svc.http.credentials import Caller
    from svc.http.deps import Deps
    from svc.http.serve import Read, Serve, Write
    from svc.model import Account, Link
    from svc.store.idempotency import StoredAnswer
    from svc.store.tx import Tx


class Links:
    """The handlers of /v1/links."""

    def __init__(self, deps: Deps, serve: Serve) -> None:
        self._store = deps.store
        self._supervisor = deps.supervisor
        self._clock = deps.clock
        serve.read(api.LIST, self.list)
        serve.write(api.ADD, self.add)
        serve.read(api.SHOW, self.show)
        serve.write(api.CHANGE, self.change)
        serve.write(api.DELETE, self.delete)
        serve.read(api.QR_CODE, self.qr_code)

    async def list(self, read: Read[ListQuery]) -> api.LinkList:
        """The user's links, of one account or of all; with the clicks of a week for who may read reports."""
        limit = read.query.limit
        found, own, clicks = await self._store.read(_page(read.caller, read.query, day_of(self._clock())))
        shown = [
            api.Link.of(link, own[link.account_id], None if clicks is None else clicks.get(link.id, 0))
            for link in found[:limit]
        ]
        return api.LinkList(links=tuple(shown), next_cursor=shown[-1].id if len(found) > limit else None)

    async def add(self, write: Write[api.NewLink]) -> StoredAnswer:
        """A new link."""
        body = write.body
        account = await visible_account(self._store, write.caller, body.account_id)
        actor = self._supervisor.account(account.edge_account_id)
        commit = write.commit(_one(account))
        return await actor.add_link(account, body.url, body.code, api.rules_of(body.rules), commit)

    async def show(self, read: Read[NoQuery]) -> api.OneLink:
        """One link."""
        link, account = await readable_link(self._store, read.caller, read.id)
        return api.OneLink(link=api.Link.of(link, account))

    async def change(self, write: Write[api.LinkChange]) -> StoredAnswer:
        """A link that leads elsewhere from now on."""
        link, account = await visible_link(self._store, write.caller, write.id)
        body = write.body
        rules = None if body.rules is None else api.rules_of(body.rules)
        actor = self._supervisor.account(account.edge_account_id)
        return await actor.change_link(link, body.url, rules, write.commit(_one(account)))

    async def delete(self, write: Write[NoBody]) -> StoredAnswer:
        """A link that is no more."""
        link, account = await visible_link(self._store, write.caller, write.id)
        return await self._supervisor.account(account.edge_account_id).delete_link(link, write.commit(_one(account)))

    async def qr_code(self, read: Read[api.QrQuery]) -> Response:
        """The link's QR code."""
        link, account = await visible_link(self._store, read.caller, read.id)
        if link.state == "deleted":
            raise NotFound(links.LINK_DELETED)
        url = api.short_url(link, account)
        if url is None:
            raise Conflict("link_host_required")
        return Response(qr.svg(f"{url}?q", read.query.size), content_type="image/svg+xml")


def _one(account: Account) -> Callable[[Link], api.OneLink]:
    """What a link of this account is answered with."""
    return lambda link: api.OneLink(link=api.Link.of(link, account))


def _page(
    caller: Caller, page: ListQuery, today: int
) -> Tx[tuple[list[Link], dict[str, Account], dict[str, int] | None]]:
    """A page of the caller's links and one more, their accounts, and, for who may read reports, the clicks of each."""
    edge_accounts = caller.edge_accounts
    found = yield from links.list_links(caller.user.id, page.account_id, edge_accounts, page.limit + 1, page.cursor)
    own = yield from accounts.list_accounts(caller.user.id, edge_accounts)
    clicks: dict[str, int] | None = None
    if caller.may("reports"):
        clicks = yield from links.clicks_7d([link.id for link in found], today)
    return found, {account.id: account for account in own}, clicks
