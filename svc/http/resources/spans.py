"""Computes the days of a report, and the days that the report is compared with.

All dates are UTC days, so daylight saving time has no effect.
"""

from __future__ import annotations

import calendar
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING

from svc.clock import day_number, day_of, day_text
from svc.errors import Invalid, Issue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from svc.api.reports import PeriodQuery
    from svc.model import Compare, Period, ReportPeriod, ShownPeriod, Step

DAYS: dict[Period, int] = {"today": 1, "7d": 7, "30d": 30}
# The epoch day of 0001-01-01, the earliest date in Python.
_FIRST_DAY = -719_162
# The maximum number of points in a series, such as 50 days by hour, three years by day or a century by month. Such a
# response is about 100 kB long.
MOST_POINTS = 1_200
# If the request does not specify the interval, a report that covers at most a quarter has points by day, and one that
# covers at most half a year has points by week. Reports about longer periods have points by month.
_MOST_DAYS_BY_DAY, _MOST_DAYS_BY_WEEK = 92, 183
_PER_DAY: dict[Step, float] = {"hour": 24, "day": 1, "week": 1 / 7, "month": 1 / 30}


@dataclass(frozen=True)
class Span:
    """The days of a report, from `first_day` to `last_day`, inclusive. `today`: the current day.

    `by`: the length of time that each point covers. `hours_from`: the first day whose hours are stored. `extended`:
    True if the request uses parameters that the specification does not have. Only extended reports have the
    additional fields.
    """

    period: ShownPeriod
    first_day: int
    last_day: int
    today: int
    by: Step
    hours_from: int
    extended: bool = False

    @property
    def days(self) -> range:
        """The day numbers of the span."""
        return range(self.first_day, self.last_day + 1)

    @property
    def has_today(self) -> bool:
        """True if the span ends today."""
        return self.last_day == self.today

    def parts(self) -> Iterator[range]:
        """Yield the days of each point of a chart: one day, or the part of an ISO week or month that is in the span."""
        first = self.first_day
        while first <= self.last_day:
            end = min(_next_start(first, self.by), self.last_day + 1)
            yield range(first, end)
            first = end


def span_of(period: Period, now: int) -> Span:
    """Return the days of a period in the specification. All of these periods end today."""
    today = day_of(now)
    return Span(period, today - DAYS[period] + 1, today, today, "hour" if period == "today" else "day", today)


def chosen_span(query: PeriodQuery, now: int, hours_from: int, counted_from: int) -> Span:
    """Return the days that a request asks for.

    Raises Invalid if the period begins in the future or ends before it begins, if its hours are requested but not
    stored, or if the report would have more than `MOST_POINTS` points.

    `hours_from`: the first day whose hours are stored. `counted_from`: the first day on which the site or link can have
    counts.
    """
    if not query.is_extended:
        return span_of(query.period, now)  # type: ignore[arg-type]  # only these periods are not extended
    today = day_of(now)
    first, last = _days(query, today, counted_from)
    length = last - first + 1
    by = query.by or _step(length, first >= hours_from)
    if by == "hour" and first < hours_from:
        raise Invalid(
            [Issue("by", f"must not be hour: hours are stored from {day_text(hours_from)} on", "hours_not_stored")]
        )
    if length * _PER_DAY[by] > MOST_POINTS:
        raise Invalid([_too_long(query, by)])
    period = query.period if query.from_ is None and query.to is None else "custom"
    return Span(period, first, last, today, by, hours_from, extended=True)


def compared_span(span: Span, compare: Compare) -> Span:
    """Return the days to compare a report with. Their points have the same length as the report's.

    If `compare` is "previous", these are:

    - for a period of whole months, the same number of months directly before
    - for the current month, year or twelve months, the same part of the preceding month, year or twelve months
    - for other periods, the same number of days directly before.

    If `compare` is "year", these are the same dates a year earlier. A period of whole months is compared with whole
    months.

    Raises Invalid if the period is `all`, or if the days to compare with would begin before the year 1.
    """
    if span.period == "all":
        because = "must not be used with all, because nothing was counted before"
        raise Invalid([Issue("compare", because, "not_combinable")])
    # A period that ends today does not consist of whole months, because today is not over.
    whole = (
        not span.has_today
        and span.first_day == _month_start(span.first_day)
        and _month_start(span.last_day + 1) == span.last_day + 1
    )
    if compare == "year" or span.period in ("year", "12mo"):
        months = 12
    elif span.period == "month":
        months = 1
    elif whole:
        months = _month_number(span.last_day) - _month_number(span.first_day) + 1
    else:
        length = len(span.days)
        return _shifted(span, span.first_day - length, span.last_day - length)
    last = _months_before(span.last_day, months)
    if whole and last is not None:
        last = _next_start(last, "month") - 1
    return _shifted(span, _months_before(span.first_day, months), last)


def _days(query: PeriodQuery, today: int, counted_from: int) -> tuple[int, int]:
    """Return the first and the last day. Raises Invalid."""
    if query.from_ is None and query.to is None:
        return _days_of(query.period, today, min(counted_from, today))
    if "period" in query.model_fields_set:
        raise Invalid([Issue("period", "must not be combined with from or to", "not_combinable")])
    if query.from_ is not None and query.from_ > today:
        raise Invalid([Issue("from", f"must not be later than today, {day_text(today)}", "in_future")])
    last = today if query.to is None else min(query.to, today)
    first = min(counted_from, last) if query.from_ is None else query.from_
    if last < first:
        raise Invalid([Issue("to", "must not be before from", "end_before_start")])
    return first, last


def _days_of(period: ReportPeriod, today: int, counted_from: int) -> tuple[int, int]:
    this_month = _month_start(today)
    if period == "yesterday":
        return today - 1, today - 1
    if period == "month":
        return this_month, today
    if period == "last_month":
        return _month_start(this_month - 1), this_month - 1
    if period == "12mo":
        at = _date(today)
        return day_number(date(at.year - (at.month < 12), at.month % 12 + 1, 1).isoformat()), today
    if period == "year":
        return day_number(f"{day_text(today)[:4]}-01-01"), today
    if period == "all":
        return counted_from, today
    return today - DAYS[period] + 1, today


def _step(length: int, hours_stored: bool) -> Step:  # only this module calls the function
    if length == 1 and hours_stored:
        return "hour"
    return "day" if length <= _MOST_DAYS_BY_DAY else "week" if length <= _MOST_DAYS_BY_WEEK else "month"


def _too_long(query: PeriodQuery, by: Step) -> Issue:
    if query.by is None:
        return Issue("from", f"must be later: the report would have more than {MOST_POINTS} months", "too_early")
    message = f"must not be {by} for this many days: the report would have more than {MOST_POINTS} points"
    return Issue("by", message, "too_many_points", MOST_POINTS)


def _shifted(span: Span, first: int | None, last: int | None) -> Span:
    if first is None or last is None or first < _FIRST_DAY:
        raise Invalid([Issue("compare", "must not be used with a period that begins so early", "too_early")])
    return replace(span, first_day=first, last_day=last)


def _date(day: int) -> date:
    return date.fromisoformat(day_text(day))


def _month_start(day: int) -> int:
    return day - _date(day).day + 1


def _month_number(day: int) -> int:
    """Return the month of an epoch day as a number. Numbers of consecutive months are consecutive."""
    at = _date(day)
    return at.year * 12 + at.month - 1


def _months_before(day: int, months: int) -> int | None:
    """Return the same day of the month `months` months earlier; None if that is before year 1.

    If that month is shorter, return its last day.
    """
    at = _date(day)
    year, month = divmod(_month_number(day) - months, 12)
    if year < 1:
        return None
    last = calendar.monthrange(year, month + 1)[1]
    return day_number(date(year, month + 1, min(at.day, last)).isoformat())


def _next_start(day: int, by: Step) -> int:
    """Return the first day after `day` on which a new point of the series begins."""
    if by == "month":
        at = _date(day)
        return day + calendar.monthrange(at.year, at.month)[1] - at.day + 1
    # Day 0, 1970-01-01, was a Thursday. ISO weeks begin on Monday.
    return day + 7 - (day + 3) % 7 if by == "week" else day + 1
