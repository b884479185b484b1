"""Tests of the days that a report covers, and of the earlier days with which it is compared."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc.api.reports import ReportQuery
from svc.api.shape import parse_query
from svc.clock import DAY_MS, day_number, day_text
from svc.errors import Invalid
from svc.http.resources.spans import MOST_POINTS, chosen_span, compared_span
from svc.model import ReportPeriod

TODAY = "2026-11-24"  # a Tuesday


def span(query="", today=TODAY, counted_from="2025-03-05", hours_kept=40):
    """Return the span for a query string. Raises Invalid."""
    parameters = dict(each.split("=") for each in query.split("&") if each)
    now = day_number(today) * DAY_MS + 5 * 3_600_000
    asked = parse_query(ReportQuery, {name: [value] for name, value in parameters.items()})
    return chosen_span(asked, now, day_number(today) - hours_kept + 1, day_number(counted_from))


def shown(found):
    return f"{day_text(found.first_day)} {day_text(found.last_day)}"


def problem(query, compare=None, **more):
    with pytest.raises(Invalid) as raised:
        compared_span(span(query, **more), compare)
    [issue] = cast("Any", raised.value.details)["issues"]
    return f"{issue['path']}: {issue['message']}"


@pytest.mark.parametrize(
    ("query", "days", "by"),
    [
        ("", "2026-11-24 2026-11-24", "hour"),
        ("period=7d", "2026-11-18 2026-11-24", "day"),
        ("period=30d", "2026-10-26 2026-11-24", "day"),
        ("period=yesterday", "2026-11-23 2026-11-23", "hour"),
        ("period=month", "2026-11-01 2026-11-24", "day"),
        ("period=last_month", "2026-10-01 2026-10-31", "day"),
        ("period=12mo", "2025-12-01 2026-11-24", "month"),
        ("period=year", "2026-01-01 2026-11-24", "month"),
        ("period=all", "2025-03-05 2026-11-24", "month"),
        ("from=2026-11-01&to=2026-11-01", "2026-11-01 2026-11-01", "hour"),
        ("from=2026-01-01&to=2026-01-01", "2026-01-01 2026-01-01", "day"),
        ("from=2026-01-01&to=2026-04-02", "2026-01-01 2026-04-02", "day"),
        ("from=2026-01-01&to=2026-04-03", "2026-01-01 2026-04-03", "week"),
        ("from=2026-01-01&to=2026-07-02", "2026-01-01 2026-07-02", "week"),
        ("from=2026-01-01&to=2026-07-03", "2026-01-01 2026-07-03", "month"),
        ("from=2026-11-20", "2026-11-20 2026-11-24", "day"),
        ("to=2025-03-10", "2025-03-05 2025-03-10", "day"),
        ("to=2024-03-10", "2024-03-10 2024-03-10", "day"),
        ("from=2026-11-20&to=9999-12-31", "2026-11-20 2026-11-24", "day"),
        ("from=0001-01-01&to=0001-12-31", "0001-01-01 0001-12-31", "month"),
        ("from=2024-02-29&to=2024-02-29", "2024-02-29 2024-02-29", "day"),
        ("from=2026-10-16&to=2026-11-24&by=hour", "2026-10-16 2026-11-24", "hour"),
        ("period=7d&by=month", "2026-11-18 2026-11-24", "month"),
    ],
)
def test_days_of_a_query(query, days, by):
    found = span(query)
    assert (shown(found), found.by) == (days, by)
    assert found.extended is (query not in ("", "period=7d", "period=30d"))


@pytest.mark.parametrize(
    ("period", "today", "days"),
    [
        ("month", "2026-11-01", "2026-11-01 2026-11-01"),
        ("last_month", "2028-03-31", "2028-02-01 2028-02-29"),
        ("last_month", "2026-01-01", "2025-12-01 2025-12-31"),
        ("12mo", "2026-12-31", "2026-01-01 2026-12-31"),
        ("12mo", "2028-02-29", "2027-03-01 2028-02-29"),
        ("year", "2026-01-01", "2026-01-01 2026-01-01"),
        ("yesterday", "2028-03-01", "2028-02-29 2028-02-29"),
    ],
)
def test_calendar_periods_at_the_ends_of_months(period, today, days):
    assert shown(span(f"period={period}", today)) == days


def test_all_of_a_target_that_was_created_today_or_by_a_faster_clock():
    for counted_from in (TODAY, "2026-11-25"):
        assert shown(span("period=all", counted_from=counted_from)) == f"{TODAY} {TODAY}"


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("from=2026-11-02&to=2026-11-01", "to: must not be before from"),
        ("from=2026-11-25", "from: must not be later than today, 2026-11-24"),
        ("from=9999-12-31&to=9999-12-31", "from: must not be later than today, 2026-11-24"),
        ("period=month&from=2026-11-01", "period: must not be combined with from or to"),
        ("period=today&to=2026-11-01", "period: must not be combined with from or to"),
        ("from=2026-02-29", "from: must be a date, e.g. 2026-11-21"),
        ("from=0000-01-01", "from: must be a date, e.g. 2026-11-21"),
        ("from=2026-10-15&by=hour", "by: must not be hour: hours are stored from 2026-10-16 on"),
        ("period=year&by=hour", "by: must not be hour: hours are stored from 2026-10-16 on"),
        (
            "from=0001-01-01&by=day",
            "by: must not be day for this many days: the report would have more than 1200 points",
        ),
        ("from=0001-01-01", "from: must be later: the report would have more than 1200 months"),
    ],
)
def test_problem_of_a_query(query, wanted):
    assert problem(query) == wanted


def test_more_hours_than_points_are_refused_if_the_operator_keeps_more():
    assert "more than 1200 points" in problem("from=2026-08-01&by=hour", hours_kept=400)


@pytest.mark.parametrize(
    ("query", "previous", "year"),
    [
        ("period=today&by=hour", "2026-11-23 2026-11-23", "2025-11-24 2025-11-24"),
        ("period=7d&by=day", "2026-11-11 2026-11-17", "2025-11-18 2025-11-24"),
        ("period=month", "2026-10-01 2026-10-24", "2025-11-01 2025-11-24"),
        ("period=last_month", "2026-09-01 2026-09-30", "2025-10-01 2025-10-31"),
        ("period=year", "2025-01-01 2025-11-24", "2025-01-01 2025-11-24"),
        ("period=12mo", "2024-12-01 2025-11-24", "2024-12-01 2025-11-24"),
        ("from=2024-02-29&to=2024-02-29", "2024-02-28 2024-02-28", "2023-02-28 2023-02-28"),
        ("from=2024-02-28&to=2024-03-01", "2024-02-25 2024-02-27", "2023-02-28 2023-03-01"),
        ("from=2025-02-01&to=2025-02-28", "2025-01-01 2025-01-31", "2024-02-01 2024-02-29"),
        ("from=2024-01-01&to=2024-03-31", "2023-10-01 2023-12-31", "2023-01-01 2023-03-31"),
        ("from=2024-01-01&to=2024-12-31", "2023-01-01 2023-12-31", "2023-01-01 2023-12-31"),
        ("from=2026-11-01&to=2026-11-24", "2026-10-08 2026-10-31", "2025-11-01 2025-11-24"),
        ("from=0002-01-01&to=0002-01-02", "0001-12-30 0001-12-31", "0001-01-01 0001-01-02"),
    ],
)
def test_compared_days(query, previous, year):
    found = span(query)
    assert shown(compared_span(found, "previous")) == previous
    assert shown(compared_span(found, "year")) == year


@pytest.mark.parametrize(
    ("today", "previous"), [("2026-03-31", "2026-02-01 2026-02-28"), ("2026-02-28", "2026-01-01 2026-01-28")]
)
def test_month_is_compared_with_the_same_part_of_the_month_before(today, previous):
    assert shown(compared_span(span("period=month", today), "previous")) == previous


def test_nothing_is_before_all_or_before_the_year_1():
    assert problem("period=all", "previous").startswith("compare: must not be used with all")
    assert problem("period=all", "year").startswith("compare: must not be used with all")
    for compare in ("previous", "year"):
        assert problem("from=0001-01-01&to=0001-01-02", compare).startswith("compare: must not be used with a period")


days = st.dates(date(1, 1, 1), date(2200, 12, 31))


@given(day=days, length=st.integers(1, 1_000), by=st.sampled_from(["day", "week", "month"]))
def test_parts_cover_each_day_once_and_end_with_their_week_or_month(day, length, by):
    to = day + timedelta(length - 1)
    found = span(f"from={day.isoformat()}&to={to.isoformat()}&by={by}", "2300-01-01")
    parts = list(found.parts())
    assert len(parts) <= MOST_POINTS
    assert [number for part in parts for number in part] == list(found.days)
    ends = [date.fromisoformat(day_text(part[-1])) for part in parts[:-1]]
    if by == "week":
        assert all(end.isoweekday() == 7 for end in ends)
        assert all(len(part) <= 7 for part in parts)
    if by == "month":
        assert all((end + timedelta(1)).day == 1 for end in ends)
        assert all(len({day_text(number)[:7] for number in part}) == 1 for part in parts)


@given(
    today=st.dates(date(1990, 1, 1), date(2100, 12, 31)),
    period=st.sampled_from(["today", "yesterday", "7d", "30d", "month", "last_month", "12mo", "year"]),
    compare=st.sampled_from(["previous", "year"]),
)
def test_comparison_is_before_the_period_and_about_as_long(today, period: ReportPeriod, compare):
    found = span(f"period={period}&compare={compare}", today.isoformat())
    earlier = compared_span(found, compare)
    assert earlier.last_day < found.first_day
    assert abs(len(earlier.days) - len(found.days)) <= 3
