"""/v1/links: short links."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.actors.requests import links as link_requests
from svc.api import links as api
from svc.api.cursors import cursor_of, expired, place_in
from svc.clock import day_of
from svc.http.resources.rankings import Rankings
from svc.http.serving.credentials import require
from svc.http.serving.visible import readable_link, visible_account, visible_link
from svc.model.link_texts import folded
from svc.store import accounts, broken_targets, disconnects, link_lists, links
from svc.store.link_lists import PLACE_KINDS, LinkFilter, place_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from svc.api.shape import EmptyBody, NoQuery
    from svc.http.resources.rankings import Ranking
    from svc.http.serving.credentials import Caller
    from svc.http.serving.deps import Deps
    from svc.http.serving.endpoints import Endpoints
    from svc.http.serving.requests import Read, Write
    from svc.model import Account, FormerAccount, Link
    from svc.store.idempotency import StoredResponse
    from svc.store.link_lists import PagedOrder
    from svc.store.tx import Tx


class Links:
    """The handlers of /v1/links."""

    def __init__(self, deps: Deps, endpoints: Endpoints) -> None:
        self._context = deps.context
        self._rankings = Rankings()
        endpoints.read(api.LIST, self.list)
        endpoints.write(api.ADD, self.add)
        endpoints.read(api.SHOW, self.show)
        endpoints.write(api.CHANGE, self.change)
        endpoints.write(api.DELETE, self.delete)
        endpoints.write(api.RESTORE, self.restore)

    async def list(self, read: Read[api.LinkQuery]) -> api.LinkList:
        """Return the links in one or all accounts, with clicks in the last seven days if the caller may see them."""
        caller, query, today = read.caller, read.query, day_of(self._context.clock())
        which = LinkFilter(
            caller.user.id,
            query.account_id,
            caller.edge_accounts,
            query.contains,
            query.state,
            title_contains=folded(query.q),
            tag=query.tag,
            broken=query.broken,
        )
        if query.order == "clicks":
            require(caller, ("reports",), session_only=False)
            page, next_place = await self._page_by_clicks(which, query, today)
        else:
            page, next_place = await self._page(which, query, query.order)
        page, own, clicks = await self._context.store.read(
            _around(caller, page, today, deleted=query.state == "deleted")
        )
        return api.LinkList(
            links=tuple(
                api.Link.from_model(link, own[link.account_id], None if clicks is None else clicks.get(link.id, 0))
                for link in page
                if link.account_id in own
            ),
            next_cursor=None if next_place is None else cursor_of(query.listing, next_place),
        )

    async def _page(
        self, which: LinkFilter, query: api.LinkQuery, order: PagedOrder
    ) -> tuple[Sequence[Link], tuple[int | str, ...] | None]:
        after = None if query.cursor is None else place_in(query.cursor, query.listing, PLACE_KINDS[order])
        listed = await self._context.store.read(link_lists.list_links(which, order, query.limit + 1, after))
        page = listed[: query.limit]
        return page, place_of(order, page[-1]) if len(listed) > len(page) else None

    async def _page_by_clicks(
        self, which: LinkFilter, query: api.LinkQuery, today: int
    ) -> tuple[Sequence[Link], tuple[int | str, ...] | None]:
        if query.cursor is None:
            ranking, first = await self._ranking(which, today), 0
        else:
            name, place = place_in(query.cursor, query.listing, (str, int))
            kept = self._rankings.named(str(name), which)
            if kept is None:
                raise expired()
            ranking, first = kept, int(place)
        ids = ranking.page(first, query.limit)
        page = await self._context.store.read(link_lists.listed(which, ids))
        end = first + len(ids)
        return page, (ranking.name, end) if end < len(ranking) else None

    async def _ranking(self, which: LinkFilter, today: int) -> Ranking:
        """Return the links' current ranking by clicks, from the cache if the cached ranking is up to date.

        If the list depends on titles, tags or broken targets, the cached ranking is not used, because their changes do
        not change the version of the cached data.
        """
        as_of = await self._context.store.read(_depends_on(which, today))
        kept = None if which.has_texts or which.broken else self._rankings.current(which, as_of)
        if kept is not None:
            return kept
        as_of, link_ids = await self._context.store.read(_ranked(which, today))
        return self._rankings.keep(which, as_of, link_ids)

    async def add(self, write: Write[api.NewLink]) -> StoredResponse:
        """Add a link."""
        account = await visible_account(self._context.store, write.caller, write.body.account_id)
        commit = write.commit(_one(account), about=account)
        return await link_requests.add(self._context, account, write.body.to_model(), commit)

    async def show(self, read: Read[NoQuery]) -> api.OneLink:
        """Return a link."""
        link, account = await readable_link(self._context.store, read.caller, read.id)
        [link] = await self._context.store.peek(broken_targets.with_broken_targets([link]))
        return api.OneLink(link=api.Link.from_model(link, account))

    async def change(self, write: Write[api.LinkChange]) -> StoredResponse:
        """Change some of a link's fields."""
        link, account = await visible_link(self._context.store, write.caller, write.id)
        commit = write.commit(_one(account), about=account)
        changed = broken_targets.with_broken_target(links.change_link(account.id, link.id, write.body.to_model()))
        return await self._context.store.run(commit(changed))

    async def delete(self, write: Write[EmptyBody]) -> StoredResponse:
        """Delete a link."""
        link, account = await visible_link(self._context.store, write.caller, write.id)
        commit = write.commit(_one(account), about=account)
        return await self._context.store.run(commit(links.delete_link(account.id, link.id, self._context.clock())))

    async def restore(self, write: Write[EmptyBody]) -> StoredResponse:
        """Restore a deleted link."""
        link, account = await visible_link(self._context.store, write.caller, write.id)
        commit = write.commit(_one(account), about=account)
        limit, now = self._context.config.limits.links, self._context.clock()
        restored = links.restore_link(account.user_id, account.id, link.id, now, limit)
        return await self._context.store.run(commit(broken_targets.with_broken_target(restored)))


def _one(account: Account) -> Callable[[Link], api.OneLink]:
    """Return a function that renders a link of this account."""
    return lambda link: api.OneLink(link=api.Link.from_model(link, account))


def _around(
    caller: Caller, page: Sequence[Link], today: int, *, deleted: bool
) -> Tx[tuple[list[Link], dict[str, Account | FormerAccount], dict[str, int] | None]]:
    """Return the page's links with their broken targets, the caller's accounts by id, and the links' clicks by id.

    If `deleted` is True, disconnected accounts are included. The clicks are None if the caller may not read reports.
    """
    own: dict[str, Account | FormerAccount] = {}
    for account in (yield from accounts.list_accounts(caller.user.id, caller.edge_accounts)):
        own[account.id] = account
    for former in (yield from disconnects.list_former(caller.user.id, caller.edge_accounts)) if deleted else ():
        own[former.id] = former
    clicks: dict[str, int] | None = None
    if caller.has_any_scope("reports"):
        clicks = yield from link_lists.clicks_7d([link.id for link in page], today)
    return (yield from broken_targets.with_broken_targets(page)), own, clicks


def _depends_on(which: LinkFilter, today: int) -> Tx[Hashable]:
    """Return the day, and the accounts' versions and last pushes, on which the ranking depends."""
    own = yield from accounts.list_accounts(which.user_id)
    return today, tuple((account.id, account.config_version, account.push and account.push.at) for account in own)


def _ranked(which: LinkFilter, today: int) -> Tx[tuple[Hashable, list[str]]]:
    as_of = yield from _depends_on(which, today)
    return as_of, (yield from link_lists.ranked_by_clicks(which, today))
