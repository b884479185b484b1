"""Tests of the demo's invented totals, and of the demo's comparison of reports with the visits that were sent."""

from __future__ import annotations

import base64
from copy import deepcopy
from datetime import date, timedelta
from itertools import groupby
from typing import Any

import pytest

from edge_worker.demo import BREAKDOWNS, check
from edge_worker.demo_history import day_number, day_of, import_file, invented_days, month_start
from edge_worker.harness.visitors import Tally, views
from svc.imports.totals.tally import Name
from svc.imports.totals.upload import read_upload

DAYS = ("2026-11-25", "2026-12-01", "2027-01-01", "2024-02-29", "2026-03-31")
_DAY_MS = 86_400_000


@pytest.mark.parametrize("text", DAYS)
def test_invented_totals_cover_two_years_and_can_be_imported(text: str) -> None:
    today = day_number(text)
    days = invented_days(today - 30, today, 28)
    first = date.fromisoformat(text[:8] + "01").replace(day=1)
    for _ in range(23):
        first = (first - timedelta(1)).replace(day=1)
    assert list(days) == list(range(day_number(first.isoformat()), today - 29))
    assert all(0 < day["visitors"] <= day["views"] and day["bots"] >= 0 for day in days.values())
    assert days == invented_days(today - 30, today, 28)
    uploaded = read_upload(base64.b64decode(import_file(days)), Name("site", "shop.example"), today, None)
    read = uploaded.days_of[""]
    assert uploaded.refused.count == 0
    assert {day: {"views": one.views, "visitors": one.visitors, "bots": one.bots} for day, one in read.items()} == days


def test_day_changes_at_midnight_utc() -> None:
    assert day_of(20_000 * _DAY_MS - 1) == 19_999
    assert day_of(20_000 * _DAY_MS) == 20_000


def text_of(day: int) -> str:
    return (date(1970, 1, 1) + timedelta(day)).isoformat()


def year_report(tally: Tally, today: int) -> dict[str, Any]:
    """Return the expected report for twelve months, with one point per month."""
    first = month_start(today, 11)
    before = (month_start(today, 23), today - 365)
    months = [list(days) for _, days in groupby(range(first, today + 1), key=lambda day: text_of(day)[:7])]
    lists = {
        name: [{"key": key, "n": n} for key, n in tally.top(name, first, today).most_common(10)] for name in BREAKDOWNS
    }
    return {
        "period": "12mo",
        "from": text_of(first),
        "to": text_of(today),
        "totals": tally.days(first, today),
        "series": [{"at": f"{text_of(days[0])}T00:00:00.000Z", **tally.days(days[0], days[-1])} for days in months],
        "comparison": {"from": text_of(before[0]), "to": text_of(before[1]), "totals": tally.days(*before)},
        "unavailable": None,
        "breakdowns": lists,
    }


@pytest.mark.parametrize("text", DAYS)
def test_every_wrong_number_of_a_report_is_found(text: str) -> None:
    today = day_number(text)
    tally = Tally(imported=invented_days(today - 30, today, 28))
    for hit in views(50, seed=1):
        tally.add(hit, today * _DAY_MS + 1)
    report = year_report(tally, today)
    assert check("sites", report, tally, today) == []
    assert check("sites", report, tally, today - 1) == [], "midnight has passed since the start"
    assert len(check("sites", report, tally, today - 2)) == 1
    assert len(check("sites", report, tally, today + 1)) == 1
    wrong = deepcopy(report)
    wrong["totals"]["visitors"] += 1
    wrong["series"][3]["bots"] += 1
    wrong["comparison"]["totals"]["views"] -= 1
    wrong["breakdowns"]["bots"][0]["n"] += 1
    assert len(check("sites", wrong, tally, today)) == 4
    del report["series"][5]
    assert len(check("sites", report, tally, today)) == 3, "a month is missing, so another appears too small"
