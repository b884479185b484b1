"""Tests of the numbers in reports: each number comes from the correct source, and unknown numbers are omitted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc.clock import DAY_MS, HOUR_MS, day_of, day_text, iso
from svc.http.resources import report as report_module
from svc.http.resources.report import Stored
from svc.http.resources.spans import span_of
from svc.model import Counts
from svc.worker.breakdowns import COMMON_LISTS
from svc.worker.counts import Live
from tests.clock import START_MS

TODAY = day_of(START_MS)
NOW = TODAY * DAY_MS + 5 * HOUR_MS + 600_000  # 05:10
NOTHING = Stored(days={}, hours={}, sent_until=None, sent_days=frozenset())


def live(days: Any = None, hours: Any = None, at: int = NOW, breakdowns: Any = None, kept_from: int = 0) -> Live:
    return Live(at=at, days=days or {}, hours=hours or {}, breakdowns=breakdowns or {}, kept_from=kept_from)


def site_report(span: Any, stored: Any, live: Any, unavailable: Any, limit: int = 10) -> Any:
    return report_module.site_report(span, stored, live, unavailable, limit).model_dump(mode="json")


def link_report(*arguments: Any, limit: int = 10, **more: Any) -> Any:
    return report_module.live_report(*arguments, limit=limit, **more).model_dump(mode="json")


def closed_link_report(*arguments: Any) -> Any:
    return report_module.closed_link_report(*arguments).model_dump(mode="json")


def at_of(report: Any) -> list[str]:
    return [point["at"] for point in report["series"]]


@pytest.mark.rule("R1")
@pytest.mark.parametrize(("period", "days"), [("today", 1), ("7d", 7), ("30d", 30)])
def test_period_ends_today(period, days):
    report = site_report(span_of(period, NOW), NOTHING, None, None)
    assert report["from"] == day_text(TODAY - days + 1)
    assert report["to"] == day_text(TODAY)
    assert list(report) == [
        "period",
        "from",
        "to",
        "as_of",
        "totals",
        "series",
        "incomplete",
        "breakdowns",
        "breakdowns_from",
        "unavailable",
    ]


@pytest.mark.rule("R2")
def test_site_before_its_first_push_has_no_as_of_and_no_hours():
    report = site_report(span_of("today", NOW), NOTHING, None, None)
    assert report["as_of"] is None
    assert report["series"] == []
    assert report["totals"] == {"views": 0, "bots": 0, "visitors": 0}


@pytest.mark.rule("R2")
def test_site_report_of_today_has_a_point_per_hour_up_to_as_of():
    until = TODAY * DAY_MS + 4 * HOUR_MS
    stored = Stored(
        days={TODAY: Counts(7, 1, 5)},
        hours={TODAY * DAY_MS + HOUR_MS: Counts(7, 1, 5)},
        sent_until=until,
        sent_days=frozenset(),
    )
    report = site_report(span_of("today", NOW), stored, None, None)
    assert report["as_of"] == iso(until)
    assert at_of(report) == [iso(TODAY * DAY_MS + hour * HOUR_MS) for hour in range(4)]
    assert [point["views"] for point in report["series"]] == [0, 7, 0, 0]
    assert report["totals"] == {"views": 7, "bots": 1, "visitors": 5}


@pytest.mark.rule("R2")
def test_hours_of_yesterday_are_not_points_of_today():
    stored = Stored(days={}, hours={}, sent_until=(TODAY - 1) * DAY_MS + 9 * HOUR_MS, sent_days=frozenset())
    report = site_report(span_of("today", NOW), stored, None, None)
    assert report["series"] == []
    assert report["as_of"] == iso((TODAY - 1) * DAY_MS + 9 * HOUR_MS)


@pytest.mark.rule("R2")
@pytest.mark.parametrize(("period", "days"), [("7d", 7), ("30d", 30)])
def test_site_report_of_a_longer_period_has_a_point_per_day(period, days):
    stored = Stored(
        days={TODAY: Counts(3, 0, 2), TODAY - 6: Counts(10, 4, 8)},
        hours={},
        sent_until=TODAY * DAY_MS + HOUR_MS,
        sent_days=frozenset(),
    )
    report = site_report(span_of(period, NOW), stored, None, None)
    assert at_of(report) == [iso(day * DAY_MS) for day in range(TODAY - days + 1, TODAY + 1)]
    assert report["totals"] == {"views": 13, "bots": 4, "visitors": 10}


@pytest.mark.rule("R7")
def test_refused_hours_make_a_site_report_incomplete_but_not_a_link_report():
    stored = Stored(days={TODAY: Counts(3, 0, 2)}, hours={}, sent_until=NOW, sent_days=frozenset(), hours_refused=True)
    assert site_report(span_of("today", NOW), stored, None, None)["incomplete"] is True
    link = link_report(span_of("today", NOW), stored, live(), breakdowns=False, unavailable=None)
    assert link["incomplete"] is False
    closed = closed_link_report(span_of("today", NOW), replace(stored, sent_until=NOW), None)
    assert (closed["incomplete"], closed["totals"]["views"], closed["unavailable"]) == (False, 3, None)


@pytest.mark.rule("R4")
def test_hour_that_began_during_a_live_read_has_a_point():
    hours = {TODAY * DAY_MS + 4 * HOUR_MS: Counts(3, 0, 2), TODAY * DAY_MS + 5 * HOUR_MS: Counts(1, 0, 1)}
    read = live({TODAY: Counts(4, 0, 2)}, hours, at=TODAY * DAY_MS + 5 * HOUR_MS - 1)
    report = link_report(span_of("today", NOW), NOTHING, read, breakdowns=False, unavailable=None)
    assert sum(point["views"] for point in report["series"]) == report["totals"]["views"] == 4


@pytest.mark.rule("R3")
def test_top_list_has_the_ten_largest_in_order():
    tally = {f"/{n}": n for n in range(1, 15)} | {"(other)": 9, "/a": 9}
    report = site_report(span_of("today", NOW), NOTHING, live(breakdowns={"pages": tally}), None)
    shown = report["breakdowns"]["pages"]
    assert len(shown) == 10
    assert [entry["n"] for entry in shown] == [14, 13, 12, 11, 10, 9, 9, 9, 8, 7]
    assert [entry["key"] for entry in shown[5:8]] == ["(other)", "/9", "/a"]


@pytest.mark.rule("R3")
def test_limit_sets_length_of_breakdowns():
    read = live(breakdowns={"pages": {f"/{number:03}": 200 - number for number in range(150)}})
    for limit in (1, 10, 100):
        shown = site_report(span_of("7d", NOW), NOTHING, read.with_tops(), None, limit=limit)["breakdowns"]["pages"]
        assert shown == [{"key": f"/{number:03}", "n": 200 - number} for number in range(limit)]


def test_breakdowns_have_every_dimension():
    read = live(breakdowns={"pages": {"/": 3}})
    report = site_report(span_of("today", NOW), NOTHING, read, None)
    assert list(report["breakdowns"]) == list(COMMON_LISTS)
    assert report["breakdowns"]["pages"] == [{"key": "/", "n": 3}]
    assert report["breakdowns"]["bots"] == []


@pytest.mark.rule("R3")
def test_arrivals_have_a_source_and_a_page():
    tally = {"spring news /a": 2, " /": 3, "(other)": 1}
    read = live(breakdowns={"pages": {"/": 6}, "campaigns": {}, "entries": {"/": 3}, "arrivals": tally})
    for limit, length in ((10, 3), (2, 2)):
        shown = site_report(span_of("today", NOW), NOTHING, read, None, limit)["breakdowns"]
        assert shown["arrivals"] == [
            {"source": "", "page": "/", "n": 3},
            {"source": "spring news", "page": "/a", "n": 2},
            {"source": "(other)", "page": "(other)", "n": 1},
        ][:length]  # fmt: skip
        assert (shown["campaigns"], shown["entries"]) == ([], [{"key": "/", "n": 3}])
        assert "targets" not in shown


@pytest.mark.rule("R3")
@pytest.mark.parametrize(
    ("period", "kept_from", "first"),
    [("30d", 0, 29), ("30d", TODAY - 35, 29), ("30d", TODAY - 29, 29), ("30d", TODAY - 15, 15), ("7d", TODAY - 15, 6),
     ("today", TODAY - 15, 0)],
)  # fmt: skip
def test_report_has_the_first_day_of_its_breakdowns(period, kept_from, first):
    span, read = span_of(period, NOW), live(kept_from=kept_from)
    for report in (
        site_report(span, NOTHING, read, None),
        link_report(span, NOTHING, read, breakdowns=True, unavailable=None),
    ):
        assert report["breakdowns_from"] == day_text(TODAY - first)
    for report in (
        site_report(span, NOTHING, None, "cloudflare"),
        link_report(span, NOTHING, read, breakdowns=False, unavailable=None),
        link_report(span, NOTHING, None, breakdowns=True, unavailable="cloudflare"),
        closed_link_report(span, NOTHING, "not_installed"),
    ):
        assert (report["breakdowns"], report["breakdowns_from"]) == (None, None)


@pytest.mark.rule("R4")
def test_deleted_days_never_pushed_are_unknown_and_not_zero():
    stored = Stored(
        days={TODAY - 18: Counts(8, 0, 7), TODAY - 17: Counts(3, 0, 2)},
        hours={},
        sent_until=(TODAY - 16) * DAY_MS,
        sent_days={TODAY - 19, TODAY - 18},
    )
    # The Worker's cron deleted the rows of this day only after they were read, so the counts are still correct.
    read = live({TODAY - 16: Counts(6, 0, 5), TODAY - 3: Counts(2, 0, 2)}, kept_from=TODAY - 15)
    report = link_report(span_of("30d", NOW), stored, read, breakdowns=True, unavailable=None, created_on=TODAY - 25)
    known = {(TODAY * DAY_MS - ago * DAY_MS): views for ago, views in ((18, 8), (17, 3), (16, 6), (3, 2))}
    ago = [*range(29, 25, -1), *range(19, -1, -1)]
    assert at_of(report) == [iso((TODAY - days) * DAY_MS) for days in ago], "no clicks before its creation"
    assert [point["views"] for point in report["series"]] == [known.get((TODAY - days) * DAY_MS, 0) for days in ago]


@pytest.mark.rule("R4")
def test_link_report_of_today_is_read_live_up_to_the_time_of_the_read():
    hours = {TODAY * DAY_MS + 5 * HOUR_MS: Counts(2, 1, 2)}
    stored = Stored(days={TODAY: Counts(1, 0, 1)}, hours={}, sent_until=NOW, sent_days=frozenset())
    read = live({TODAY: Counts(4, 1, 3)}, hours)
    report = link_report(span_of("today", NOW), stored, read, breakdowns=False, unavailable=None)
    assert report["as_of"] == iso(NOW)
    assert len(report["series"]) == 6
    assert report["series"][-1] == {"at": iso(TODAY * DAY_MS + 5 * HOUR_MS), "views": 2, "bots": 1, "visitors": 2}
    assert report["totals"] == {"views": 4, "bots": 1, "visitors": 3}
    assert report["breakdowns"] is None
    assert report["unavailable"] is None


@pytest.mark.rule("R4")
def test_link_report_takes_final_days_from_the_store_and_others_from_the_live_read():
    stored = Stored(
        days={TODAY - 2: Counts(10, 0, 9), TODAY - 1: Counts(1, 0, 1)},
        hours={},
        sent_until=(TODAY - 1) * DAY_MS,
        sent_days={TODAY - 3, TODAY - 2},
    )
    read = live({TODAY - 3: Counts(99), TODAY - 2: Counts(99), TODAY - 1: Counts(5, 0, 4), TODAY: Counts(2, 0, 2)})
    report = link_report(span_of("7d", NOW), stored, read, breakdowns=True, unavailable=None)
    assert [point["views"] for point in report["series"]] == [0, 0, 0, 0, 10, 5, 2]
    assert report["totals"]["views"] == 17
    assert report["breakdowns"] is not None


@pytest.mark.rule("R5")
def test_link_report_without_live_read_has_stored_days_only():
    stored = Stored(
        days={TODAY - 2: Counts(10, 0, 9), TODAY: Counts(7, 0, 7)},
        hours={TODAY * DAY_MS: Counts(7, 0, 7)},
        sent_until=TODAY * DAY_MS + HOUR_MS,
        sent_days={TODAY - 3, TODAY - 2, TODAY - 1},
    )
    week = link_report(span_of("7d", NOW), stored, None, breakdowns=True, unavailable="cloudflare")
    assert at_of(week) == [iso(day * DAY_MS) for day in (TODAY - 3, TODAY - 2, TODAY - 1)]
    assert week["totals"]["views"] == 10
    assert week["unavailable"] == "cloudflare"
    assert week["breakdowns"] is None
    assert week["as_of"] is None
    today = link_report(span_of("today", NOW), stored, None, breakdowns=False, unavailable="rate_limited")
    assert today["series"] == []
    assert today["totals"] == {"views": 0, "bots": 0, "visitors": 0}


counts = st.builds(Counts, st.integers(0, 100), st.integers(0, 100), st.integers(0, 100))
some_days = st.dictionaries(st.integers(TODAY - 35, TODAY), counts)


@pytest.mark.rule("R1")
@given(
    period=st.sampled_from(["7d", "30d"]),
    days=some_days,
    live_days=some_days,
    sent_days=st.sets(st.integers(TODAY - 35, TODAY - 1)),
    readable=st.booleans(),
)
def test_totals_are_the_sum_of_the_points(period, days, live_days, sent_days, readable):
    stored = Stored(days=days, hours={}, sent_until=None, sent_days=sent_days)
    span = span_of(period, NOW)
    in_span = {day: each for day, each in days.items() if day in span.days}
    read = live(live_days) if readable else None
    for report in (
        site_report(span, Stored(in_span, {}, None, sent_days), None, None),
        link_report(span, stored, read, breakdowns=False, unavailable=None),
    ):
        for name in ("views", "bots", "visitors"):
            assert report["totals"][name] == sum(point[name] for point in report["series"])
