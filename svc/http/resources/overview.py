"""/v1/overview: the counts of all sites and links, from stored totals only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.api import overview as api
from svc.api.links import Link
from svc.api.reports import Counts
from svc.api.sites import Site
from svc.http.resources.spans import span_of
from svc.store import accounts, broken_targets, overview, totals

if TYPE_CHECKING:
    from svc import model
    from svc.http.serving.credentials import Caller
    from svc.http.serving.deps import Deps
    from svc.http.serving.endpoints import Endpoints
    from svc.http.serving.requests import Read
    from svc.model import Account
    from svc.store.tx import Tx


class Overview:
    """The handler of /v1/overview."""

    def __init__(self, deps: Deps, endpoints: Endpoints) -> None:
        self._context = deps.context
        endpoints.read(api.SHOW, self.show)

    async def show(self, read: Read[api.OverviewQuery]) -> api.OneOverview:
        """Return the overview. All of its numbers come from one snapshot of the store."""
        return await self._context.store.read(_overview(read.caller, read.query, self._context.clock()))


def _overview(caller: Caller, query: api.OverviewQuery, now: int) -> Tx[api.OneOverview]:
    span = span_of(query.period, now)
    days = overview.Days(span.first_day, span.last_day)
    own = {account.id: account for account in (yield from accounts.list_accounts(caller.user.id, caller.edge_accounts))}
    sites = yield from _sites(caller, query, days, own)
    links = yield from _links(caller, query, days, own)
    return api.OneOverview(
        overview=api.Overview(
            period=query.period,
            from_=span.first_day,
            to=span.last_day,
            as_of=(yield from totals.oldest_push(list(own))),
            sites=sites,
            links=links,
        )
    )


def _sites(caller: Caller, query: api.OverviewQuery, days: overview.Days, own: dict[str, Account]) -> Tx[api.SiteGroup]:
    group = yield from overview.group("sites", caller.user.id, caller.edge_accounts, days, query.order, query.sites)
    entries = group.entries if caller.has_any_scope("sites") else ()
    sites = yield from overview.sites_by_id([entry.id for entry in entries])
    return api.SiteGroup(
        number=group.number,
        totals=_shown(group.counts),
        totals_before=_if_any(group.before),
        entries=tuple(
            api.SiteEntry(
                site=Site.from_model(sites[entry.id], own[sites[entry.id].account_id].synced_version),
                totals=_shown(entry.counts),
                totals_before=_if_any(entry.before),
                series_30d=entry.series,
            )
            for entry in entries
        ),
    )


def _links(caller: Caller, query: api.OverviewQuery, days: overview.Days, own: dict[str, Account]) -> Tx[api.LinkGroup]:
    group = yield from overview.group("links", caller.user.id, caller.edge_accounts, days, query.order, query.links)
    entries = group.entries if caller.has_any_scope("links") else ()
    found = yield from overview.links_by_id([entry.id for entry in entries])
    links = {link.id: link for link in (yield from broken_targets.with_broken_targets(list(found.values())))}
    return api.LinkGroup(
        number=group.number,
        broken=(yield from broken_targets.count_links(caller.user.id, caller.edge_accounts)),
        totals=_shown(group.counts),
        totals_before=_if_any(group.before),
        entries=tuple(
            api.LinkEntry(
                link=Link.from_model(links[entry.id], own[links[entry.id].account_id]),
                totals=_shown(entry.counts),
                totals_before=_if_any(entry.before),
                series_30d=entry.series,
            )
            for entry in entries
        ),
    )


def _shown(counts: model.Counts) -> Counts:
    return Counts.model_validate(counts)


def _if_any(counts: model.Counts | None) -> Counts | None:
    return None if counts is None else _shown(counts)
