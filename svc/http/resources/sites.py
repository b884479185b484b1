"""/v1/sites: the hosts whose page views are counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from svc.actors.requests import sites as site_requests
from svc.api import sites as api
from svc.api.cursors import cursor_of, place_in
from svc.clock import day_of
from svc.http.serving.visible import readable_site, visible_account
from svc.store import accounts, site_lists, sites

if TYPE_CHECKING:
    from svc.actors.context import Commit
    from svc.api.shape import EmptyBody, NoQuery
    from svc.http.serving.credentials import Caller
    from svc.http.serving.deps import Deps
    from svc.http.serving.endpoints import Endpoints
    from svc.http.serving.requests import Read, Write
    from svc.model import Site
    from svc.store.idempotency import StoredResponse
    from svc.store.tx import Tx


class Sites:
    """The handlers of /v1/sites."""

    def __init__(self, deps: Deps, endpoints: Endpoints) -> None:
        self._context = deps.context
        endpoints.read(api.LIST, self.list)
        endpoints.write(api.ADD, self.add)
        endpoints.read(api.SHOW, self.show)
        endpoints.write(api.CHANGE, self.change)
        endpoints.write(api.DELETE, self.delete)
        endpoints.write(api.ROTATE, self.rotate)

    async def list(self, read: Read[api.SiteQuery]) -> api.SiteList:
        """Return the sites in one or all accounts, with views in the last seven days if the caller may see them."""
        query = read.query
        after = None if query.cursor is None else str(place_in(query.cursor, query.listing, (str,))[0])
        today = day_of(self._context.clock())
        listed, synced, views = await self._context.store.read(_page(read.caller, query, after, today))
        page = listed[: query.limit]
        # A disconnected account has no Worker, so its sites are considered synced.
        rendered = [self._shown(site, synced.get(site.account_id, site.version), views.get(site.id)) for site in page]
        last = cursor_of(query.listing, (page[-1].id,)) if len(listed) > len(page) else None
        return api.SiteList(sites=tuple(rendered), next_cursor=last)

    async def add(self, write: Write[api.NewSite]) -> StoredResponse:
        """Add a site. The response contains the snippet. The account's actor then creates the route."""
        account = await visible_account(self._context.store, write.caller, write.body.account_id)

        def render(site: Site) -> api.OneSite:
            return self._one(site, account.synced_version)

        body = write.body
        commit = write.commit(render, about=account)
        return await site_requests.add(self._context, account, body.host, body.settings, commit)

    async def change(self, write: Write[api.SiteChange]) -> StoredResponse:
        """Change a site. The account's actor then syncs the change to the Worker."""
        site, commit = await self._to_change(write)
        changed = sites.change_site(site.account_id, site.id, write.body.settings)
        return await self._context.store.run(commit(changed))

    async def delete(self, write: Write[EmptyBody]) -> StoredResponse:
        """Delete a site. The account's actor then removes its routes."""
        site, commit = await self._to_change(write)
        return await self._context.store.run(commit(sites.delete_site(site.account_id, site.id)))

    async def rotate(self, write: Write[EmptyBody]) -> StoredResponse:
        """Give a site a new tracking path. The account's actor then creates the path's route."""
        site, commit = await self._to_change(write)
        return await site_requests.rotate(self._context, site, commit)

    async def _to_change(self, write: Write[Any]) -> tuple[Site, Commit[Site, StoredResponse]]:
        """Return the site to change, and the function that commits the change together with the response."""
        site, account = await readable_site(self._context.store, write.caller, write.id)

        def render(changed: Site) -> api.OneSite:
            return self._one(changed, account.synced_version)

        return site, write.commit(render, about=account)

    async def show(self, read: Read[NoQuery]) -> api.OneSite:
        """Return a site."""
        site, account = await readable_site(self._context.store, read.caller, read.id)
        return self._one(site, account.synced_version)

    def _one(self, site: Site, synced_version: int) -> api.OneSite:
        return api.OneSite(site=self._shown(site, synced_version))

    def _shown(self, site: Site, synced_version: int, views: tuple[int, ...] | None = None) -> api.Site:
        return api.Site.from_model(site, synced_version, views)


def _page(
    caller: Caller, query: api.SiteQuery, after: str | None, today: int
) -> Tx[tuple[list[Site], dict[str, int], dict[str, tuple[int, ...]]]]:
    """Return a page of the caller's sites after the id `after`, plus the next site if there is one.

    Also returns each account's synced version and, if the caller may read reports, each site's views in the last seven
    days.
    """
    listed = yield from site_lists.list_sites(
        caller.user.id,
        query.account_id,
        caller.edge_accounts,
        query.limit + 1,
        after,
        contains=query.contains,
        order=query.order,
        deleted=query.state == "deleted",
    )
    own = yield from accounts.list_accounts(caller.user.id, caller.edge_accounts)
    views: dict[str, tuple[int, ...]] = {}
    if caller.has_any_scope("reports"):
        views = yield from site_lists.series_7d([site.id for site in listed], today)
    return listed, {account.id: account.synced_version for account in own}, views
