"""A report's numbers: stored and live counts, combined into totals and points. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from svc.api import reports as api
from svc.api.ledger import DayStatement
from svc.clock import DAY_MS, HOUR_MS, day_of
from svc.model import DIMENSIONS, Counts
from svc.worker.counts import top

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence, Set

    from svc.model import Period, UnavailableReason
    from svc.worker.counts import Live

DAYS: dict[Period, int] = {"today": 1, "7d": 7, "30d": 30}


@dataclass(frozen=True)
class Span:
    """The days of a report, from `first_day` to `today`, inclusive."""

    period: Period
    first_day: int
    today: int

    @property
    def days(self) -> range:
        """The day numbers of the span."""
        return range(self.first_day, self.today + 1)


@dataclass(frozen=True)
class Stored:
    """The stored counts of a target: the days of the span, and today's hours.

    `sent_until`: the time up to which the account's worker has pushed its counts (epoch ms). `sent_days`: the days for
    which it has pushed all counts. `hours_refused`: the service rejected some of today's hours.
    """

    days: Mapping[int, Counts]
    hours: Mapping[int, Counts]
    sent_until: int | None
    sent_days: Set[int]
    hours_refused: bool = False


Point = tuple[int, Counts]


def span_of(period: Period, now: int) -> Span:
    """Return the days of a period that ends today."""
    today = day_of(now)
    return Span(period, today - DAYS[period] + 1, today)


def site_report(
    span: Span, stored: Stored, live: Live | None, unavailable: UnavailableReason | None, limit: int
) -> api.Report:
    """Return a site's report. All totals are from the store, and breakdowns are from `live` (rules R2, R3).

    `limit`: the maximum length of each breakdown.
    """
    days = {day: stored.days.get(day, Counts()) for day in span.days}
    if span.period == "today":
        points = _hourly(span.today, stored.hours, stored.sent_until)
    else:
        points = [(day * DAY_MS, counts) for day, counts in days.items()]
    return _report(span, stored.sent_until, days, points, stored.hours_refused, live, unavailable, limit)


def live_report(
    span: Span,
    stored: Stored,
    live: Live | None,
    *,
    breakdowns: bool,
    limit: int,
    unavailable: UnavailableReason | None,
    created_on: int = 0,
) -> api.Report:
    """Return a report in which final days are from the store and other days are from `live` if available (R4, R5).

    This is the report of a link, and of a site on request. A day with unknown counts has no point, because a point of
    zero would be wrong. `created_on`: the day (day number) before which the target cannot have counts.
    """
    days: dict[int, Counts] = {}
    for day in span.days:
        known = _live_day(day, span.today, stored, live, created_on)
        if known is not None:
            days[day] = known
    if span.period == "today":
        # If a new hour began while the counts were being read, its clicks are in the totals, so the hour needs a point.
        until = None if live is None else max([live.at, *(hour_at + 1 for hour_at in live.hours)])
        points = [] if live is None else _hourly(span.today, live.hours, until)
    else:
        points = [(day * DAY_MS, counts) for day, counts in days.items()]
    as_of = live.at if live is not None else None
    return _report(span, as_of, days, points, False, live if breakdowns else None, unavailable, limit)


def closed_link_report(span: Span, stored: Stored, unavailable: UnavailableReason | None) -> api.Report:
    """Return the report of a link whose account is disconnected and whose counts are all stored.

    The last read before the disconnect included today's hours, even those not yet pushed (rule R7).
    """
    return site_report(span, replace(stored, hours_refused=False), None, unavailable, 0)


def with_statement(report: api.Report, live: Live | None) -> api.Report:
    """Return the report with the statement of counts of its last day, if the database was read."""
    found = None if live is None else live.statement
    if found is None:
        return report
    statement = DayStatement.from_model(found.counts, day=found.day, closed=found.closed)
    return report.model_copy(update={"statement": statement})


def _live_day(day: int, today: int, stored: Stored, live: Live | None, created_on: int) -> Counts | None:
    kept = stored.days.get(day)
    if day in stored.sent_days and day < today:
        return kept or Counts()  # the worker omits targets without counts
    if live is not None and (day in live.days or day >= live.kept_from or day < created_on):
        # A day that is missing from the database had no clicks, unless the worker has deleted it because of its age.
        return live.days.get(day, kept or Counts())
    return kept if day < today else None


def _hourly(today: int, hours: Mapping[int, Counts], until: int | None) -> list[Point]:
    """Return a point for each hour of today that began before `until`."""
    start = today * DAY_MS
    end = min(until if until is not None else start, start + DAY_MS)
    return [(at, hours.get(at, Counts())) for at in range(start, end, HOUR_MS)]


def _report(
    span: Span,
    as_of: int | None,
    days: Mapping[int, Counts],
    points: Sequence[Point],
    incomplete: bool,  # positional, because only this module calls the function
    live: Live | None,
    unavailable: UnavailableReason | None,
    limit: int,
) -> api.Report:
    return api.Report(
        period=span.period,
        from_=span.first_day,
        to=span.today,
        as_of=as_of,
        totals=api.Counts.model_validate(sum(days.values(), Counts())),
        series=tuple(
            api.Point(at=at, views=counts.views, bots=counts.bots, visitors=counts.visitors) for at, counts in points
        ),
        incomplete=incomplete,
        breakdowns=None
        if live is None
        else api.Breakdowns(
            **{
                dimension: tuple(
                    api.Top(key=name, n=n) for name, n in top(live.breakdowns.get(dimension, {}), limit).items()
                )
                for dimension in DIMENSIONS
            }
        ),
        breakdowns_from=None if live is None else max(span.first_day, live.kept_from),
        unavailable=unavailable,
    )
