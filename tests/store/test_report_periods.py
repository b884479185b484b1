"""Tests that the periods of email reports are whole weeks from Monday, and whole months."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc.clock import day_number, day_text
from svc.store.report_periods import due_day, next_due_day, period_due

DAYS = st.integers(min_value=100, max_value=60_000)


@pytest.mark.parametrize(
    ("kind", "day", "due", "following"),
    [
        ("weekly", "2026-11-22", "2026-11-16", "2026-11-23"),  # a Sunday
        ("weekly", "2026-11-23", "2026-11-23", "2026-11-30"),  # a Monday
        ("weekly", "2027-01-01", "2026-12-28", "2027-01-04"),
        ("monthly", "2026-11-30", "2026-11-01", "2026-12-01"),
        ("monthly", "2026-12-01", "2026-12-01", "2027-01-01"),
        ("monthly", "2028-02-29", "2028-02-01", "2028-03-01"),
    ],
)
def test_days_on_which_reports_are_due(kind, day, due, following):
    assert day_text(due_day(kind, day_number(day))) == due
    assert day_text(next_due_day(kind, day_number(day))) == following


def test_report_covers_the_week_or_month_before():
    week, month = period_due("weekly", day_number("2026-11-23")), period_due("monthly", day_number("2026-03-01"))
    assert [day_text(day) for day in (week.first_before, week.first, week.last)] == [
        "2026-11-09", "2026-11-16", "2026-11-22",
    ]  # fmt: skip
    assert [day_text(day) for day in (month.first_before, month.first, month.last)] == [
        "2026-01-01", "2026-02-01", "2026-02-28",
    ]  # fmt: skip


@given(day=DAYS, kind=st.sampled_from(["weekly", "monthly"]))
def test_periods_follow_each_other_without_gap(day, kind):
    due = due_day(kind, day)
    following = next_due_day(kind, day)
    assert due <= day < following
    assert due_day(kind, following) == following
    assert due_day(kind, following - 1) == due
    period = period_due(kind, following)
    assert (period.first, period.last, period.due_day) == (due, following - 1, following)
    assert period_due(kind, due).last == period.first - 1
    assert period_due(kind, due).first == period.first_before
    first = date.fromisoformat(day_text(period.first))
    assert first.weekday() == 0 if kind == "weekly" else first.day == 1
