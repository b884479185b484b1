"""/v1/links: short links and their QR codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quart import Response

from svc.clock import day_of
from svc.errors import Conflict, NotFound
from svc.http import qr, wire
from svc.http.accounts import visible_account
from svc.http.bodies import NewLink, PageQuery, QrQuery, known_id
from svc.http.gate import answer, reply, route
from svc.model import Rule
from svc.store import accounts, links

if TYPE_CHECKING:
    from quart_trio import QuartTrio

    from svc.actors.context import Commit
    from svc.http.credentials import Caller
    from svc.http.deps import Deps
    from svc.http.gate import Gate
    from svc.model import Account, Link
    from svc.store.tx import Store, Tx


class Links:
    """The handlers of /v1/links."""

    def __init__(self, deps: Deps, gate: Gate) -> None:
        self._store = deps.store
        self._supervisor = deps.supervisor
        self._clock = deps.clock
        self._gate = gate

    def add_routes(self, app: QuartTrio) -> None:
        """Put the handlers under their paths."""
        route(app, "GET", "/v1/links", self.show_all)
        route(app, "POST", "/v1/links", self.add)
        route(app, "GET", "/v1/links/<link_id>", self.show)
        route(app, "GET", "/v1/links/<link_id>/qr.svg", self.qr_code)

    async def show_all(self) -> Response:
        """The user's links, of one account or of all; with the clicks of a week for who may read reports."""
        caller, page = await self._gate.read_query(PageQuery, "links")
        found, own, clicks = await self._store.read(_page(caller, page, day_of(self._clock())))
        shown = [
            wire.link(link, own[link.account_id], None if clicks is None else clicks.get(link.id, 0)) for link in found
        ]
        return reply(wire.page("links", shown, page.limit))

    async def add(self) -> Response:
        """A new link."""
        call = await self._gate.write(NewLink, "links")
        account = await visible_account(self._store, call.caller, call.body.account_id)
        actor = self._supervisor.account(account.edge_account_id)

        async def work(commit: Commit[Link, Link]) -> Link:
            rules = [Rule(rule.url, rule.countries, rule.devices) for rule in call.body.rules]
            return await actor.add_link(account, call.body.url, call.body.code, rules, commit)

        return await self._gate.once(call, work, lambda link: answer({"link": wire.link(link, account)}, 201))

    async def show(self, link_id: str) -> Response:
        """One link."""
        caller = await self._gate.read("links")
        link, account = await visible_link(self._store, caller, link_id)
        return reply({"link": wire.link(link, account)})

    async def qr_code(self, link_id: str) -> Response:
        """The link's QR code."""
        caller, query = await self._gate.read_query(QrQuery, "links")
        link, account = await visible_link(self._store, caller, link_id)
        if link.state == "deleted":
            raise NotFound
        url = wire.short_url(link, account)
        if url is None:
            raise Conflict("link_host_required")
        return Response(qr.svg(f"{url}?q", query.size), content_type="image/svg+xml")


async def visible_link(store: Store, caller: Caller, link_id: str) -> tuple[Link, Account]:
    """The caller's link and its account. Raises NotFound."""
    link, account = await store.peek(_link_and_account(caller.user.id, known_id("lnk", link_id)))
    if link is None or account is None or not caller.sees(account.edge_account_id):
        raise NotFound
    return link, account


def _link_and_account(user_id: int, link_id: str) -> Tx[tuple[Link | None, Account | None]]:
    link = yield from links.get_link(user_id, link_id)
    account = (yield from accounts.account_by_id(link.account_id)) if link is not None else None
    return link, account


def _page(
    caller: Caller, page: PageQuery, today: int
) -> Tx[tuple[list[Link], dict[str, Account], dict[str, int] | None]]:
    """A page of the caller's links and one more, their accounts, and, for who may read reports, the clicks of each."""
    edge_accounts = caller.edge_accounts
    found = yield from links.list_links(caller.user.id, page.account_id, edge_accounts, page.limit + 1, page.cursor)
    own = yield from accounts.list_accounts(caller.user.id, edge_accounts)
    clicks: dict[str, int] | None = None
    if caller.may("reports"):
        clicks = yield from links.clicks_7d([link.id for link in found], today)
    return found, {account.id: account for account in own}, clicks
