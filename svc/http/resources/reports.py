"""…/report and …/first-view: the report for a site or link, and whether a site has had its first view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from svc.actors.requests.live_reads import Unavailable
from svc.api import reports as api
from svc.clock import DAY_MS, HOUR_MS, day_of
from svc.http.resources.report import (
    Compared,
    Stored,
    closed_link_report,
    live_report,
    site_report,
    with_missing_breakdowns,
    with_statement,
)
from svc.http.resources.spans import chosen_span, compared_span
from svc.http.serving.visible import readable_link, readable_site
from svc.model import MAX_DAYS_KEPT, FormerAccount
from svc.store import totals
from svc.worker.counts import TargetDays
from svc.worker.months import MAX_DAYS_STORED, SCHEMA, whole_months

if TYPE_CHECKING:
    from svc.api.shape import NoQuery
    from svc.http.resources.spans import Span
    from svc.http.serving.deps import Deps
    from svc.http.serving.endpoints import Endpoints
    from svc.http.serving.requests import Read
    from svc.model import Account, Counts, UnavailableReason
    from svc.store.tx import Tx
    from svc.worker.counts import Live

    _AnyAccount = Account | FormerAccount

# The maximum time by which Cloudflare's clock can be behind the service's clock. Because of this difference, the first
# count may be dated to the day before the creation of the site or link.
_SLOWEST_CLOCK_MS = HOUR_MS


class Reports:
    """The handlers of the reports about sites and links, and of a site's first view."""

    def __init__(self, deps: Deps, endpoints: Endpoints) -> None:
        self._store = deps.context.store
        self._supervisor = deps.supervisor
        self._clock = deps.context.clock
        self._timing = deps.context.config.timing
        endpoints.read(api.SITE, self.site)
        endpoints.read(api.FIRST_VIEW, self.first_view)
        endpoints.read(api.LINK, self.link)

    async def site(self, read: Read[api.SiteReportQuery]) -> api.OneReport:
        """Return a site's report.

        The account's database is read only if the request asks for breakdowns or live counts.
        """
        site, account = await readable_site(self._store, read.caller, read.id)
        asked = await self._asked(read, site.id, account, site.created_at)
        # The stored totals of a disconnected account are complete, because its last counts were stored.
        current = read.query.live is not None and not isinstance(account, FormerAccount)
        days = asked.days_to_read(current=current)
        live, unavailable = await self._live(read.caller.user.id, account, days)
        # The read may come from the cache. If the newest push is newer than the read, use only the stored totals.
        if current and live is not None and live.at >= (asked.stored.sent_until or 0):
            report = asked.live_report(live, read.query.limit, None)
        else:
            listed = live if asked.breakdowns else None
            report = site_report(asked.span, asked.stored, listed, unavailable, read.query.limit, asked.compared)
        return asked.response(report, live)

    async def first_view(self, read: Read[NoQuery]) -> api.OneFirstView:
        """Return whether a site has had a view.

        Reads the account's database if the Worker has not pushed a view yet.
        """
        site, account = await readable_site(self._store, read.caller, read.id)
        now, seen, bots = self._clock(), site.first_view_at is not None, False
        unavailable: UnavailableReason | None = None
        view: api.View | None = None
        if isinstance(account, FormerAccount):
            unavailable = None if seen else "not_installed"
        elif not seen:
            live = await self._supervisor.live_reads.first_view(read.caller.user.id, account, site.id)
            if isinstance(live, Unavailable):
                unavailable = live.reason
            else:
                now = live.at
                seen = any(counts.views for counts in live.days.values())
                bots = any(counts.bots for counts in live.days.values())
                view = _only_view(live)
        first_view = api.FirstView(seen=seen, bots=bots, view=view, as_of=now, unavailable=unavailable)
        return api.OneFirstView(first_view=first_view)

    async def link(self, read: Read[api.ReportQuery]) -> api.OneReport:
        """Return a link's report.

        While the account is connected, days for which the Worker may still send counts are read from the account's
        database.

        Without breakdowns, only the days that are not stored yet are read. This makes the query identical for all
        periods that end today, so that these periods share one cached result.
        """
        link, account = await readable_link(self._store, read.caller, read.id)
        asked = await self._asked(read, link.id, account, link.created_at)
        if isinstance(account, FormerAccount) and account.has_all_counts:
            absent: UnavailableReason | None = "not_installed" if asked.breakdowns or asked.statement else None
            return asked.response(closed_link_report(asked.span, asked.stored, absent, asked.compared), None)
        days = asked.days_to_read(current=True)
        if days is None:  # all days are stored
            report = site_report(asked.span, asked.stored, None, None, read.query.limit, asked.compared)
            return asked.response(report, None)
        live, unavailable = await self._live(read.caller.user.id, account, days)
        report = asked.live_report(live, read.query.limit, unavailable)
        return asked.response(report, live)

    async def _asked(
        self,
        read: Read[api.SiteReportQuery] | Read[api.ReportQuery],
        target_id: str,
        account: _AnyAccount,
        created_at: int,
    ) -> Asked:
        """Return the days of a report with their stored counts. Raises the errors of `asked_report`."""
        now = self._clock()
        hours_from = self._timing.hours_from(now)
        return await self._store.read(asked_report(read.query, target_id, account, created_at, now, hours_from))

    async def _live(
        self, user_id: int, account: _AnyAccount, days: TargetDays | None
    ) -> tuple[Live | None, UnavailableReason | None]:
        """Return the counts that the account's database has for these days, or the reason why they are unavailable."""
        if days is None:
            return None, None
        if isinstance(account, FormerAccount):
            return None, "not_installed"
        live = await self._supervisor.live_reads.read(user_id, account, days)
        return (None, live.reason) if isinstance(live, Unavailable) else (live, None)


@dataclass(frozen=True)
class Asked:
    """A requested report: its days, the stored counts of these days, and the days of the comparison.

    `statement`: True if the report includes the statement of counts for its last day. `created_on`: the first day
    (epoch day) on which the site or link can have counts.
    """

    target_id: str
    span: Span
    stored: Stored
    compared: Compared | None
    breakdowns: bool
    statement: bool
    created_on: int
    has_months: bool

    def days_to_read(self, *, current: bool) -> TargetDays | None:
        """Return the days to read from the account's database; None if no read is needed.

        These are the days of the breakdowns and the statement, and days that are not stored.

        `current`: True if the report includes counts that the Worker has not sent yet.
        """
        span, days = self.span, []
        if current:
            spans = [(span, self.stored)] if self.compared is None else [(span, self.stored), self.compared]
            opened = [_first_open_day(each, self.created_on, stored) for each, stored in spans]
            days = [day for day in opened if day is not None]
        may_be_kept = not span.extended or span.last_day >= span.today - MAX_DAYS_KEPT
        if self.statement and may_be_kept:
            days.append(span.last_day)
        if self.breakdowns and (days or may_be_kept or self._may_have_months()):
            first = min([span.first_day, *days])
            listed_from = span.first_day if first < span.first_day else None
            return TargetDays(self.target_id, first, span.last_day, listed_from, self.has_months)
        return TargetDays(self.target_id, min(days), span.last_day) if days else None

    def _may_have_months(self) -> bool:
        """Return True if the database may have rows of whole months, or of days that are not in a month's row yet."""
        span = self.span
        may_wait = span.last_day >= span.today - MAX_DAYS_STORED
        return self.has_months and (may_wait or bool(whole_months(span.first_day, span.last_day)))

    def live_report(self, live: Live | None, limit: int, unavailable: UnavailableReason | None) -> api.Report:
        """Return the report with the counts that were read from the account's database."""
        return live_report(
            self.span,
            self.stored,
            live,
            breakdowns=self.breakdowns,
            limit=limit,
            unavailable=unavailable,
            created_on=self.created_on,
            compared=self.compared,
        )

    def response(self, report: api.Report, live: Live | None) -> api.OneReport:
        """Return the response.

        If the request uses parameters that the specification does not have, the response also has the additional
        fields.
        """
        if self.statement:
            report = with_statement(report, live)
        if self.breakdowns and self.span.extended:
            report = with_missing_breakdowns(report, self.span, self.stored, live, self.created_on)
        return api.OneReport(report=report)


def _only_view(live: Live) -> api.View | None:
    """Return the site's view if exactly one view was counted, otherwise None.

    Each breakdown then has exactly one entry, which describes this view.
    """
    names = [list(live.breakdowns.get(dimension, {})) for dimension in ("pages", "countries", "browsers")]
    if sum(counts.views for counts in live.days.values()) != 1 or any(len(keys) != 1 for keys in names):
        return None
    [page], [country], [browser] = names
    return api.View(page=page, country=country, browser=browser)


def _first_open_day(span: Span, created_on: int, stored: Stored) -> int | None:
    """Return the first day of the span for which the Worker may still send counts, or None if there is none."""
    days = range(max(span.first_day, created_on), min(span.last_day, span.today - 1) + 1)
    open_days = (day for day in days if day not in stored.sent_days)
    return next(open_days, span.today if span.has_today else None)


def asked_span(
    query: api.PeriodQuery, first_day: Tx[int | None], created_at: int, now: int, hours_from: int
) -> Tx[Span]:
    """Return the days of a report.

    `first_day`: a transaction that returns the first day with counts. It runs only if the period depends on this day.
    Raises the errors of `chosen_span`.
    """
    counted_from = day_of(created_at)
    if query.needs_first_day:
        first = yield from first_day
        counted_from = counted_from if first is None else min(counted_from, first)
    return chosen_span(query, now, hours_from, counted_from)


def asked_report(
    query: api.RangeQuery, target_id: str, account: _AnyAccount, created_at: int, now: int, hours_from: int
) -> Tx[Asked]:
    """Read the stored counts of a site or link in one transaction, so that they are consistent.

    Raises the errors of `chosen_span` and `compared_span`.
    """
    created_on = day_of(created_at - _SLOWEST_CLOCK_MS)
    span = yield from asked_span(query, totals.first_day(target_id), created_at, now, hours_from)
    stored = yield from _stored(target_id, account, created_at, span)
    compared = None
    if query.compare is not None:
        earlier = compared_span(span, query.compare)
        compared = Compared(earlier, (yield from _stored(target_id, account, created_at, earlier)))
    return Asked(
        target_id,
        span,
        stored,
        compared,
        query.breakdowns is not None,
        statement=isinstance(query, api.ReportQuery) and query.statement is not None,
        created_on=created_on,
        has_months=not isinstance(account, FormerAccount) and (account.edge_schema or 0) >= SCHEMA,
    )


def _stored(target_id: str, account: _AnyAccount, created_at: int, span: Span) -> Tx[Stored]:
    """Read the stored counts of a site or link for the days of a span."""
    days = yield from totals.day_counts(target_id, span.first_day, span.last_day)
    # For all periods, reports in the format of the specification show whether hours of today were omitted.
    first_hour_day = span.first_day if span.by == "hour" else span.today
    start, end = first_hour_day * DAY_MS, (span.last_day + 1) * DAY_MS
    needs_hours = span.by == "hour" or not span.extended
    hours: list[tuple[int, Counts]] = []
    refused: list[int] = []
    if needs_hours:
        hours = yield from totals.hour_counts(target_id, start, end)
        refused = yield from totals.refused_hours(account.id, start, end)
    sent_until = (
        account.counted_until if isinstance(account, FormerAccount) else (yield from totals.pushed_as_of(account.id))
    )
    sent_days = yield from totals.final_days(account.id, span.first_day, span.last_day)
    # The service does not accept counts for older days and does not record whether they are complete.
    settled = range(span.first_day, min(span.last_day + 1, span.today - totals.OLDEST_DAYS))
    # Only days before the creation of the site or link can be imported.
    last_imported = min(span.last_day, day_of(created_at) - 1)
    imported: dict[int, bool] = {}
    if span.first_day <= last_imported:
        imported = yield from totals.imported_days(target_id, span.first_day, last_imported)
    return Stored(
        days={day: counts for day, (counts, _, _) in days.items()},
        hours=dict(hours),
        sent_until=sent_until,
        sent_days=sent_days.union(settled),
        hours_refused=bool(refused),
        refused_days={day_of(at) for at in refused},
        imported_days=imported,
    )
