"""…/report and …/first-view: the report of a site or link, and the first view of a site."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.actors.requests.live_reads import Unavailable
from svc.api import reports as api
from svc.clock import DAY_MS, HOUR_MS, day_of
from svc.http.resources.report import Stored, closed_link_report, live_report, site_report, span_of, with_statement
from svc.http.serving.visible import readable_link, readable_site
from svc.model import FormerAccount
from svc.store import totals
from svc.worker.counts import TargetDays

if TYPE_CHECKING:
    from svc.api.shape import NoQuery
    from svc.http.resources.report import Span
    from svc.http.serving.deps import Deps
    from svc.http.serving.endpoints import Endpoints
    from svc.http.serving.requests import Read
    from svc.model import Account, UnavailableReason
    from svc.store.tx import Tx
    from svc.worker.counts import Live

# The edge platform's clock may be this far behind, so the first count may be dated to the day before the creation.
_SLOWEST_CLOCK_MS = HOUR_MS


class Reports:
    """The handlers of the two reports and of the first view."""

    def __init__(self, deps: Deps, endpoints: Endpoints) -> None:
        self._store = deps.context.store
        self._supervisor = deps.supervisor
        self._clock = deps.context.clock
        endpoints.read(api.SITE, self.site)
        endpoints.read(api.FIRST_VIEW, self.first_view)
        endpoints.read(api.LINK, self.link)

    async def site(self, read: Read[api.SiteReportQuery]) -> api.OneReport:
        """Return a site's report. The account's database is read only on request: for breakdowns and live counts."""
        site, account = await readable_site(self._store, read.caller, read.id)
        span = span_of(read.query.period, self._clock())
        stored = await self._store.read(_stored(site.id, account, span))
        breakdowns = read.query.breakdowns is not None
        created_on = day_of(site.created_at - _SLOWEST_CLOCK_MS)
        # The totals of a disconnected account include its last counts.
        current = read.query.live is not None and not isinstance(account, FormerAccount)
        statement = read.query.statement is not None
        live, unavailable = None, None
        if breakdowns or current or statement:
            first_day = span.first_day if breakdowns else _first_open_day(span, created_on, stored)
            live, unavailable = await self._live(read.caller.user.id, account, site.id, first_day, span.today)
        # A push may be newer than a cached read.
        if current and live is not None and live.at >= (stored.sent_until or 0):
            report = live_report(
                span,
                stored,
                live,
                breakdowns=breakdowns,
                limit=read.query.limit,
                unavailable=None,
                created_on=created_on,
            )
        else:
            report = site_report(span, stored, live if breakdowns else None, unavailable, read.query.limit)
        return api.OneReport(report=with_statement(report, live) if statement else report)

    async def first_view(self, read: Read[NoQuery]) -> api.OneFirstView:
        """Report whether a site has had a view. Until the worker has pushed a view, the account's database is read."""
        site, account = await readable_site(self._store, read.caller, read.id)
        now, seen, bots = self._clock(), site.first_view_at is not None, False
        unavailable: UnavailableReason | None = None
        view: api.View | None = None
        if isinstance(account, FormerAccount):
            unavailable = None if seen else "not_installed"
        elif not seen:
            found = await self._supervisor.live_reads.first_view(read.caller.user.id, account, site.id)
            if isinstance(found, Unavailable):
                unavailable = found.reason
            else:
                now = found.at
                seen = any(counts.views for counts in found.days.values())
                bots = any(counts.bots for counts in found.days.values())
                view = _only_view(found)
        first_view = api.FirstView(seen=seen, bots=bots, view=view, as_of=now, unavailable=unavailable)
        return api.OneFirstView(first_view=first_view)

    async def link(self, read: Read[api.ReportQuery]) -> api.OneReport:
        """Return a link's report. While the account is connected, today's clicks are read from its database.

        Without breakdowns, only the days that are not stored yet are read. The query is then the same for all periods,
        so all periods share the cached result.
        """
        link, account = await readable_link(self._store, read.caller, read.id)
        span = span_of(read.query.period, self._clock())
        stored = await self._store.read(_stored(link.id, account, span))
        breakdowns, statement = read.query.breakdowns is not None, read.query.statement is not None
        if isinstance(account, FormerAccount) and account.has_all_counts:
            absent: UnavailableReason | None = "not_installed" if breakdowns or statement else None
            return api.OneReport(report=closed_link_report(span, stored, absent))
        created_on = day_of(link.created_at - _SLOWEST_CLOCK_MS)
        first_day = span.first_day
        if not breakdowns:
            first_day = _first_open_day(span, created_on, stored)
        live, unavailable = await self._live(read.caller.user.id, account, link.id, first_day, span.today)
        report = live_report(
            span,
            stored,
            live,
            breakdowns=breakdowns,
            limit=read.query.limit,
            unavailable=unavailable,
            created_on=created_on,
        )
        return api.OneReport(report=with_statement(report, live) if statement else report)

    async def _live(
        self, user_id: int, account: Account | FormerAccount, target_id: str, first_day: int, last_day: int
    ) -> tuple[Live, None] | tuple[None, UnavailableReason]:
        """Return the counts in the account's database, or the reason why they are unavailable."""
        if isinstance(account, FormerAccount):
            return None, "not_installed"
        found = await self._supervisor.live_reads.read(user_id, account, TargetDays(target_id, first_day, last_day))
        return (None, found.reason) if isinstance(found, Unavailable) else (found, None)


def _only_view(live: Live) -> api.View | None:
    """Return the view if exactly one was counted. The breakdowns then have one entry each."""
    names = [list(live.breakdowns.get(dimension, {})) for dimension in ("pages", "countries", "browsers")]
    if sum(counts.views for counts in live.days.values()) != 1 or any(len(found) != 1 for found in names):
        return None
    [page], [country], [browser] = names
    return api.View(page=page, country=country, browser=browser)


def _first_open_day(span: Span, created_on: int, stored: Stored) -> int:
    """Return the first day of the span for which the worker may still send counts. It is today at the latest."""
    days = range(max(span.first_day, created_on), span.today)
    return next((day for day in days if day not in stored.sent_days), span.today)


def _stored(target_id: str, account: Account | FormerAccount, span: Span) -> Tx[Stored]:
    """Read a target's stored counts in one transaction, so that they are consistent."""
    start = span.today * DAY_MS
    days = yield from totals.day_counts(target_id, span.first_day, span.today)
    hours = yield from totals.hour_counts(target_id, start, start + DAY_MS)
    sent_until = (
        account.counted_until if isinstance(account, FormerAccount) else (yield from totals.pushed_as_of(account.id))
    )
    sent_days = yield from totals.final_days(account.id, span.first_day, span.today)
    refused = yield from totals.refused_hours(account.id, start, start + DAY_MS)
    return Stored(
        days={day: counts for day, (counts, _, _) in days.items()},
        hours=dict(hours),
        sent_until=sent_until,
        sent_days=sent_days,
        hours_refused=bool(refused),
    )
