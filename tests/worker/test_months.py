"""Reading a target's months in the Worker's database."""

from __future__ import annotations

import json

import pytest

from svc.clock import DAY_MS, day_number
from svc.worker.bundle import load_bundle
from svc.worker.counts import Rows, TargetDays, add_up, read_statements
from svc.worker.months import Month, whole_months

CAPS = load_bundle().caps
JUNE = 2026 * 12 + 5
TODAY = day_number("2026-08-20")


def day(text: str) -> int:
    return day_number(f"2026-{text}")


def state(**more):
    months = {"from": JUNE, "month": JUNE + 2, "target": "", "day": None, "first_days": {}}
    known = {"day": TODAY - 1, "kept_from": day("07-10"), "visit_lists": True, "months": months}
    return [{"value": json.dumps(known | more)}]


def month_row(number, first, **lists):
    return {"month": number, "totals": json.dumps({"from": first, "views": 1, "visitors": 1} | lists)}


def day_row(text, **lists):
    return {"day": day(text), "totals": json.dumps({"views": 1, "entries": {}} | lists)}


def read(months, *days, first="06-01", states=None, target="site_a", last=TODAY):
    asked = TargetDays(target, day(first), last, has_months=True)
    return add_up(Rows(days, [], [], [], states or state(), months), asked, CAPS, TODAY * DAY_MS)


@pytest.mark.rule("Y10")
def test_whole_months_of_a_range():
    june, july = Month(JUNE, day("06-01"), day("06-30")), Month(JUNE + 1, day("07-01"), day("07-31"))
    assert whole_months(day("06-01"), day("07-31")) == [june, july]
    assert whole_months(day("05-31") + 1, day("07-30")) == [june]
    assert whole_months(day("06-02"), day("07-31")) == [july]
    assert whole_months(day("06-02"), day("07-30")) == []
    assert [(each.first, each.last) for each in whole_months(day_number("2028-02-01"), day_number("2028-02-29"))] == [
        (day_number("2028-02-01"), day_number("2028-02-29"))
    ]


@pytest.mark.rule("Y10")
def test_months_replace_their_days_and_other_days_are_added():
    rows = [
        month_row(JUNE, day("06-01"), pages={"/a": 5, "(other)": 2}, sources={"search.example": 7}),
        month_row(JUNE + 1, day("07-01"), pages={"/a": 1, "/b": 9}, campaigns={"spring": 3}),
    ]
    days = [day_row("07-15", pages={"/b": 4}), day_row("08-02", pages={"/a": 10}, campaigns={"spring": 1})]
    live = read(rows, *days)
    assert live.breakdowns["pages"] == {"/a": 16, "/b": 9, "(other)": 2}
    assert live.breakdowns["sources"] == {"search.example": 7}
    assert live.breakdowns["campaigns"] == {"spring": 4}
    assert sum(live.channels.values()) == 7
    assert live.months == ((day("06-01"), day("06-30")), (day("07-01"), day("07-31")))
    assert live.listed_from == day("06-01")


@pytest.mark.rule("Y10")
def test_a_month_that_is_not_added_up_or_not_deleted_uses_its_days():
    rows = [month_row(JUNE, day("06-01"), pages={"/wrong": 1}), month_row(JUNE + 1, day("07-01"), pages={"/wrong": 1})]
    days = [day_row("06-15", pages={"/a": 4}), day_row("07-20", pages={"/b": 2})]
    kept = read(rows, *days, states=state(kept_from=0))
    assert (kept.breakdowns["pages"], kept.months) == ({"/a": 4, "/b": 2}, ())
    months = {"from": JUNE, "month": JUNE, "first_days": {}}
    under_way = read(rows, *days, states=state(months=months))
    assert (under_way.breakdowns["pages"], under_way.months) == ({"/b": 2}, ())
    older = read(rows, *days, states=[{"value": json.dumps({"day": TODAY - 1, "kept_from": day("07-10")})}])
    assert older.months == ()


@pytest.mark.rule("Y10")
def test_first_day_of_a_month_is_that_of_its_row_or_of_the_state():
    months = {"from": JUNE, "month": JUNE + 2, "first_days": {str(JUNE): day("06-10"), str(JUNE + 1): day("07-05")}}
    live = read([month_row(JUNE + 1, day("07-01"), pages={"/a": 1})], states=state(months=months))
    assert live.months == ((day("06-10"), day("06-30")), (day("07-01"), day("07-31")))


@pytest.mark.rule("Y10", "R3")
def test_days_without_the_newer_lists_are_named():
    half = month_row(JUNE, day("06-01"), campaigns={"spring": 1}, unlisted=[day("06-01"), day("06-20")])
    live = read([half])
    assert live.breakdowns["campaigns"] == {"spring": 1}
    assert live.unlisted_days == set(range(day("06-01"), day("06-20") + 1))
    none = [
        month_row(JUNE + n, day(f"0{6 + n}-01"), unlisted=[day(f"0{6 + n}-01"), end])
        for n, end in ((0, day("06-30")), (1, day("07-31")))
    ]
    live = read(none, last=day("07-31"))
    assert "campaigns" not in live.breakdowns
    assert len(live.unlisted_days) == 61


@pytest.mark.rule("X5")
@pytest.mark.parametrize(
    "row",
    [
        {"month": JUNE, "totals": "x"},
        {"month": JUNE, "totals": "[]"},
        {"month": "x", "totals": json.dumps({"from": day("06-01")})},
        month_row(JUNE, day("05-31")),
        month_row(JUNE, day("07-02")),
        month_row(JUNE, day("06-01"), pages={"/": -1}),
        month_row(JUNE, day("06-01"), pages={"/": "many"}),
        month_row(JUNE, day("06-01"), unlisted=[0, 10**6]),
        month_row(JUNE, day("06-01"), unlisted=[day("06-03"), day("06-02")]),
    ],
)
def test_rows_that_the_worker_did_not_write_are_rejected(row):
    with pytest.raises((ValueError, KeyError, TypeError)):
        read([row])


@pytest.mark.rule("Y10", "X7")
def test_the_table_is_read_only_if_it_exists_and_the_range_has_a_whole_month():
    def statements(**more):
        return len(read_statements(TargetDays("site_a", day("06-01"), TODAY, **more)))

    assert (statements(), statements(has_months=True)) == (5, 6)
    assert statements(has_months=True, listed_from=day("08-02")) == 5
