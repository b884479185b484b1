"""/v1/sites: hosts whose pages are counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.errors import NotFound
from svc.http import wire
from svc.http.accounts import visible_account
from svc.http.bodies import NewSite, PageQuery, known_id
from svc.http.gate import answer, reply, route
from svc.store import accounts, sites

if TYPE_CHECKING:
    from quart import Response
    from quart_trio import QuartTrio

    from svc.actors.context import Commit
    from svc.http.credentials import Caller
    from svc.http.deps import Deps
    from svc.http.gate import Gate
    from svc.model import Account, Site
    from svc.store.tx import Store, Tx


class Sites:
    """The handlers of /v1/sites."""

    def __init__(self, deps: Deps, gate: Gate) -> None:
        self._store = deps.store
        self._supervisor = deps.supervisor
        self._bundle = deps.bundle
        self._gate = gate

    def add_routes(self, app: QuartTrio) -> None:
        """Put the handlers under their paths."""
        route(app, "GET", "/v1/sites", self.show_all)
        route(app, "POST", "/v1/sites", self.add)
        route(app, "GET", "/v1/sites/<site_id>", self.show)

    async def show_all(self) -> Response:
        """The user's sites, of one account or of all."""
        caller, page = await self._gate.read_query(PageQuery, "sites")
        found, synced = await self._store.read(_page(caller, page))
        shown = [wire.site(site, synced[site.account_id], self._bundle) for site in found]
        return reply(wire.page("sites", shown, page.limit))

    async def add(self) -> Response:
        """A new site; its snippet is there at once, its route is made by the account's actor."""
        call = await self._gate.write(NewSite, "sites")
        account = await visible_account(self._store, call.caller, call.body.account_id)
        actor = self._supervisor.account(account.edge_account_id)

        async def work(commit: Commit[Site, Site]) -> Site:
            return await actor.add_site(account, call.body.host, call.body.excluded_paths, commit)

        return await self._gate.once(
            call, work, lambda site: answer({"site": wire.site(site, account.synced_version, self._bundle)}, 202)
        )

    async def show(self, site_id: str) -> Response:
        """One site."""
        caller = await self._gate.read("sites")
        site, account = await visible_site(self._store, caller, site_id)
        return reply({"site": wire.site(site, account.synced_version, self._bundle)})


async def visible_site(store: Store, caller: Caller, site_id: str) -> tuple[Site, Account]:
    """The caller's site and its account. Raises NotFound."""
    site, account = await store.peek(_site_and_account(caller.user.id, known_id("site", site_id)))
    if site is None or account is None or not caller.sees(account.edge_account_id):
        raise NotFound
    return site, account


def _site_and_account(user_id: int, site_id: str) -> Tx[tuple[Site | None, Account | None]]:
    site = yield from sites.get_site(user_id, site_id)
    account = (yield from accounts.account_by_id(site.account_id)) if site is not None else None
    return site, account


def _page(caller: Caller, page: PageQuery) -> Tx[tuple[list[Site], dict[str, int]]]:
    """A page of the caller's sites and one more, and for each account the version that its worker has."""
    edge_accounts = caller.edge_accounts
    found = yield from sites.list_sites(caller.user.id, page.account_id, edge_accounts, page.limit + 1, page.cursor)
    own = yield from accounts.list_accounts(caller.user.id, edge_accounts)
    return found, {account.id: account.synced_version for account in own}
