"""/v1/tags: the tags of links, and the report of all links with a tag."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.api import tags as api
from svc.clock import DAY_MS, day_of
from svc.errors import NotFound
from svc.http.resources.report import Compared, Stored, site_report
from svc.http.resources.reports import asked_span
from svc.http.resources.spans import compared_span
from svc.model.link_texts import folded
from svc.store import tags, totals
from svc.store.link_lists import LinkFilter

if TYPE_CHECKING:
    from svc.api.reports import PeriodQuery
    from svc.http.resources.spans import Span
    from svc.http.serving.deps import Deps
    from svc.http.serving.endpoints import Endpoints
    from svc.http.serving.requests import Read
    from svc.store.tags import Tagged
    from svc.store.tx import Tx


class Tags:
    """The handlers of /v1/tags."""

    def __init__(self, deps: Deps, endpoints: Endpoints) -> None:
        self._store = deps.context.store
        self._clock = deps.context.clock
        self._timing = deps.context.config.timing
        endpoints.read(api.LIST, self.list)
        endpoints.read(api.REPORT, self.report)

    async def list(self, read: Read[api.TagQuery]) -> api.TagList:
        """Return the tags of the caller's links, with clicks if the caller may read reports."""
        caller, query = read.caller, read.query
        which = LinkFilter(caller.user.id, query.account_id, caller.edge_accounts)
        uses = await self._store.read(tags.list_tags(which, day_of(self._clock())))
        found = [use for use in uses if folded(query.q) in folded(use.tag)] if query.q else uses
        with_clicks = caller.has_any_scope("reports")
        return api.TagList(
            tags=tuple(
                api.Tag(tag=use.tag, links=use.links, clicks_7d=use.clicks_7d if with_clicks else None)
                for use in found[: api.MAX_TAGS]
            ),
            truncated=len(found) > api.MAX_TAGS,
        )

    async def report(self, read: Read[PeriodQuery]) -> api.OneTagReport:
        """Return the report of all links with a tag.

        Raises NotFound if no link has the tag, and the errors of `chosen_span` and `compared_span`.
        """
        which = LinkFilter(read.caller.user.id, edge_accounts=read.caller.edge_accounts, tag=read.id)
        now = self._clock()
        hours_from = self._timing.hours_from(now)
        return api.OneTagReport(report=await self._store.read(_report(which, read.id, read.query, now, hours_from)))


def _report(which: LinkFilter, tag: str, query: PeriodQuery, now: int, hours_from: int) -> Tx[api.TagReport]:
    found = yield from tags.tagged(which)
    if found is None:
        raise NotFound
    span = yield from asked_span(query, tags.first_day(which), found.created_at, now, hours_from)
    stored = yield from _stored(which, found, span)
    compared = None
    if query.compare is not None:
        earlier = compared_span(span, query.compare)
        compared = Compared(earlier, (yield from _stored(which, found, earlier)))
    report = site_report(span, stored, None, None, 0, compared)
    return api.TagReport(
        tag=tag,
        links=found.links,
        period=report.period,
        from_=report.from_,
        to=report.to,
        by=span.by,
        as_of=report.as_of,
        totals=report.totals,
        series=report.series,
        comparison=report.comparison,
    )


def _stored(which: LinkFilter, found: Tagged, span: Span) -> Tx[Stored]:
    """Read the sums of the stored counts for the days of a span."""
    days = yield from tags.day_sums(which, span.first_day, span.last_day)
    hours = {}
    if span.by == "hour":
        hours = yield from tags.hour_sums(which, span.first_day * DAY_MS, (span.last_day + 1) * DAY_MS)
    sent = yield from totals.all_pushed_as_of(found.account_ids)
    return Stored(
        days={day: counts for day, (counts, _) in days.items()},
        hours=hours,
        sent_until=sent,
        sent_days=frozenset(),
        imported_days={day: True for day, (_, is_estimate) in days.items() if is_estimate},
    )
