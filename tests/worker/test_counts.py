"""Tests of a target's counts in the Worker's database, from folded day and hour rows and from unfolded events."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc.clock import DAY_MS, HOUR_MS
from svc.model import Counts
from svc.worker.breakdowns import Cap, CappedCounts, arrival_of
from svc.worker.bundle import load_bundle
from svc.worker.counts import Live, Rows, TargetDays, add_up, read_statements
from svc.worker.rows import Row
from svc.worker.stored_totals import TargetCounts

BUNDLE = load_bundle()
DAY = 20_000
AT = DAY * DAY_MS + 10 * HOUR_MS
TARGET = "lnk_a"
ASKED = TargetDays(TARGET, DAY, DAY)
# The Worker's state after yesterday was closed.
OPEN = [{"value": json.dumps({"day": DAY - 1, "visit_lists": True})}]


def event(visitor: str, *, hour: int = 10, day: int = DAY, reason: str = "", source: str = "", target: str = TARGET):
    head = [target, day * 24 + hour, reason, visitor]
    return head if reason else [*head, "", source, "DE|mobile|Firefox|Android"]


def view(source: str, page: str, *more: str, target: str = "site_a", hour: int = 10):
    return [target, DAY * 24 + hour, "", "a" * 8, page, source, "DE|mobile|Firefox|Android", *more]


def log_row(*events: list[object]) -> dict[str, object]:
    return {"id": 1, "lines": "".join(json.dumps(line) + "\n" for line in events)}


def counted(events: Sequence[Row], *, days: Sequence[Row] = (), hours: Sequence[Row] = (), states=OPEN) -> Live:
    return add_up(Rows(days, hours, events, [], states), ASKED, BUNDLE.caps, AT)


@pytest.mark.rule("R4")
def test_folded_rows_and_unfolded_events_are_counted_once_each():
    day_row = {"day": DAY, "totals": json.dumps({"views": 2, "sources": {"": 2}, "bots": {"list": 1}})}
    hour_row = {
        "day": DAY,
        "hour": 9,
        "views": 2,
        "bots": 1,
        "visitors": json.dumps(["aaaaaaaa", "bbbbbbbb", "aaaaaaaa"]),
    }
    live = counted([log_row(event("aaaaaaaa"), event("cccccccc", source="qr"))], days=[day_row], hours=[hour_row])
    assert live.days == {DAY: Counts(4, 1, 3)}
    assert live.hours == {
        DAY * DAY_MS + 9 * HOUR_MS: Counts(2, 1, 2),
        DAY * DAY_MS + 10 * HOUR_MS: Counts(2, 0, 2),
    }
    assert live.breakdowns["sources"] == {"": 3, "qr": 1}
    assert live.breakdowns["bots"] == {"list": 1}
    assert live.breakdowns["countries"] == {"DE": 2}


def test_events_are_read_from_all_tables():
    with closing(sqlite3.connect(":memory:")) as database:
        database.row_factory = sqlite3.Row
        for statement in BUNDLE.schema_statements:
            database.execute(statement)
        others = event("a" * 8, target="lnk_b")
        database.execute("insert into event_log(id, lines) values (1, ?)", [log_row(event("a" * 8), others)["lines"]])
        database.execute("insert into event_log(id, lines) values (2, ?)", [log_row(others)["lines"]])
        database.execute("insert into event_page(id, lines) values (1, ?)", [log_row(event("b" * 8), others)["lines"]])
        totals = json.dumps({"views": 1})
        database.execute("insert into day(target, day, totals) values (?, ?, ?)", [TARGET, DAY, totals])
        database.execute(
            "insert into hour(target, day, hour, views, bots, visitors) values (?, ?, 9, 1, 0, '[\"cccccccc\"]')",
            [TARGET, DAY],
        )
        rows = [
            [dict(row) for row in database.execute(text, {str(i): value for i, value in enumerate(parameters, 1)})]
            for text, parameters in read_statements(ASKED)
        ]
    assert (len(rows[2]), len(rows[3])) == (1, 1), "rows without the target are not returned"
    live = counted([*rows[2], *rows[3]], days=rows[0], hours=rows[1])
    assert live.days == {DAY: Counts(3, 0, 3)}


def test_bot_is_counted_only_by_its_reason():
    live = counted([log_row(event("", reason="head"))])
    assert live.days == {DAY: Counts(0, 1, 0)}
    assert live.breakdowns["bots"] == {"head": 1}
    assert live.breakdowns["countries"] == {}


@pytest.mark.rule("R4")
@pytest.mark.parametrize(
    "wrong", [{"views": -1}, {"visitors": -1}, {"bots": {"head": -1}}, {"pages": {"/": 5, "/a": -1}}]
)
def test_negative_counts_are_rejected(wrong):
    with pytest.raises(ValueError, match="negative"):
        counted([], days=[{"day": DAY, "totals": json.dumps(wrong)}])
    with pytest.raises(ValueError, match="negative"):
        counted([], hours=[{"day": DAY, "hour": 3, "views": -1, "bots": 0, "visitors": "[]"}])


@pytest.mark.rule("A17")
@pytest.mark.parametrize(
    "wrong",
    [
        {"views": -1}, {"bots": 2**53}, {"visitors": 10**30}, {"target": "site_\0"},
        {"day": -1}, {"day": 2**40}, {"day": 2**62}, {"at": (DAY + 1) * DAY_MS}, {"at": 10**30},
    ],
)  # fmt: skip
def test_counts_that_a_push_cannot_contain_are_rejected(wrong):
    with pytest.raises(ValueError, match="not a valid count"):
        TargetCounts(**{"target": TARGET, "day": DAY, "views": 1, "bots": 0, "visitors": 1} | wrong)


def test_other_targets_and_days_are_ignored():
    rows = [log_row(event("a" * 8, target="lnk_b"), event("a" * 8, day=DAY - 1), event("b" * 8))]
    live = counted(rows)
    assert live.days == {DAY: Counts(1, 0, 1)}


def test_event_without_detail_is_counted_as_other():
    live = counted([log_row(event("a" * 8)[:4])])
    assert live.days == {DAY: Counts(1, 0, 1)}
    assert {name: dict(live.breakdowns[name]) for name in ("pages", "os")} == {
        "pages": {"(other)": 1},
        "os": {"(other)": 1},
    }


def test_event_of_a_closed_day_is_not_counted():
    closed = [{"value": json.dumps({"day": DAY})}]
    day_row = {"day": DAY, "totals": json.dumps({"views": 2, "visitors": 2})}
    live = counted([log_row(event("a" * 8))], days=[day_row], states=closed)
    assert live.days == {DAY: Counts(2, 0, 2)}


@pytest.mark.rule("R3")
def test_breakdowns_cover_only_kept_days():
    """A cron run has deleted the oldest day after its rows were read, but before the Worker's state was read."""
    days = [
        {"day": DAY - ago, "totals": json.dumps({"views": 2, "visitors": 1, "pages": {f"/{ago}": 2}})}
        for ago in (20, 19)
    ]
    states = [{"value": json.dumps({"day": DAY - 1, "kept_from": DAY - 19})}]
    asked = TargetDays(TARGET, DAY - 29, DAY)
    live = add_up(Rows(days, [], [log_row(event("a" * 8))], [], states), asked, BUNDLE.caps, AT)
    assert live.kept_from == DAY - 19
    assert live.breakdowns["pages"] == {"/19": 2, "": 1}
    assert live.days == {DAY - 20: Counts(2, 0, 1), DAY - 19: Counts(2, 0, 1), DAY: Counts(1, 0, 1)}
    assert live.with_tops().kept_from == DAY - 19
    assert counted([]).kept_from == 0, "a worker that does not report it"


@pytest.mark.parametrize("kept_from", [-1, DAY, 10**7, 10**30, 1.5, "x", None])
def test_invalid_kept_from_is_rejected(kept_from):
    with pytest.raises(ValueError):  # noqa: PT011  # from pydantic or from our code
        counted([], states=[{"value": json.dumps({"day": DAY - 1, "kept_from": kept_from})}])


@pytest.mark.rule("W6")
def test_keys_beyond_the_cap_are_counted_as_other():
    events = []
    for number in range(103):
        line = event("a" * 8)
        line[5] = f"host{number}.example"
        events.append(line)
    live = counted([log_row(*events, events[0])])
    assert len(live.breakdowns["sources"]) == 101
    assert live.breakdowns["sources"]["(other)"] == 3
    assert live.breakdowns["sources"]["host0.example"] == 2


def counted_site(events: Sequence[Row], *, days: Sequence[Row] = (), states=OPEN) -> Live:
    return add_up(Rows(days, [], events, [], states), TargetDays("site_a", DAY - 1, DAY), BUNDLE.caps, AT)


@pytest.mark.rule("R3")
def test_site_has_campaigns_entries_and_arrivals_of_people_who_came_from_elsewhere():
    rows = [
        log_row(
            view("a.example", "/", "spring sale"),
            view("spring news", "/"),
            view("", "/b"),
            view("(internal)", "/b", "spring sale"),
            ["site_a", DAY * 24, "", "a" * 8],
            ["site_a", DAY * 24, "list", ""],
        )
    ]
    live = counted_site(rows)
    assert live.breakdowns["campaigns"] == {"spring sale": 2}
    assert live.breakdowns["entries"] == {"/": 2, "/b": 1}
    assert live.breakdowns["arrivals"] == {"a.example /": 1, "spring news /": 1, " /b": 1}
    assert "targets" not in live.breakdowns
    assert live.unlisted_days == frozenset()
    assert arrival_of("spring news /") == ("spring news", "/")
    assert arrival_of(" /b") == ("", "/b")
    assert arrival_of("(other)") == ("(other)", "(other)")


@pytest.mark.rule("R3")
def test_link_has_campaigns_and_targets():
    lines = [[*event("a" * 8), "", "https://a.example/"], [*event("b" * 8), "mail", "https://a.example/"]]
    live = counted([log_row(*lines, event("c" * 8), [*event("d" * 8), "mail"])])
    assert live.breakdowns["campaigns"] == {"mail": 2}
    assert live.breakdowns["targets"] == {"https://a.example/": 2}
    assert not {"entries", "arrivals"} & live.breakdowns.keys()


@pytest.mark.rule("R3", "Y17")
def test_clicks_outside_of_a_period_are_counted_separately():
    folded = {
        "day": DAY,
        "totals": json.dumps({"views": 1, "bots": {"head": 1}, "entries": {}, "outside": {"early": 4}}),
    }
    lines = [["lnk_a", DAY * 24, "ended", ""], ["lnk_a", DAY * 24, "early", ""], ["lnk_a", DAY * 24, "head", ""]]
    live = counted([log_row(*lines)], days=[folded])
    assert live.days[DAY] == Counts(1, 2, 0)
    assert live.breakdowns["outside"] == {"early": 5, "ended": 1}
    assert live.breakdowns["bots"] == {"head": 2}
    only = counted([log_row(*lines[:2])])
    assert only.days == {DAY: Counts()}
    assert only.hours == {}
    assert only.breakdowns["outside"] == {"early": 1, "ended": 1}
    assert "outside" not in counted([log_row(lines[2])]).breakdowns


@pytest.mark.rule("R3")
def test_day_that_an_older_worker_began_has_no_partial_lists():
    older = {"day": DAY, "totals": json.dumps({"views": 1, "pages": {"/": 1}})}
    newer = {"day": DAY - 1, "totals": json.dumps({"views": 1, "pages": {"/": 1}, "entries": {"/": 1}})}
    rows = [log_row(view("", "/c", "mail"))]
    live = counted_site(rows, days=[older])
    assert live.breakdowns["pages"] == {"/": 1, "/c": 1}
    assert not {"campaigns", "entries", "arrivals"} & live.breakdowns.keys()
    assert live.unlisted_days == {DAY}
    live = counted_site(rows, days=[older, newer])
    assert (live.breakdowns["entries"], live.breakdowns["campaigns"]) == ({"/": 1}, {})
    assert live.unlisted_days == {DAY}


@pytest.mark.rule("R3")
@pytest.mark.parametrize(("state", "listed"), [({}, True), ({"day": DAY - 1}, False)])
def test_events_that_an_older_worker_has_not_added_up_are_not_in_its_lists(state, listed):
    """In the first case, the Worker of a new database has not run yet. In the second case, an older Worker will not
    count these lists later either.
    """
    live = counted_site([log_row(view("", "/"))], states=[{"value": json.dumps(state)}])
    assert live.breakdowns["pages"] == {"/": 1}
    assert live.breakdowns.get("entries") == ({"/": 1} if listed else None)
    assert live.unlisted_days == (frozenset() if listed else {DAY})


@pytest.mark.rule("W6")
def test_breakdown_is_also_limited_in_bytes_and_a_shorter_key_can_still_fit():
    counts = CappedCounts(Cap(10, 10), {"abc": 1})
    for key in ("defg", "xxxx", "é", "defg", "y", "(other)"):
        counts.add(key)
    assert counts.counts == {"abc": 1, "defg": 2, "(other)": 3, "é": 1}
    astral = CappedCounts(Cap(10, 6))
    for key in ("\U0001f642", "a"):
        astral.add(key)
    assert astral.counts == {"\U0001f642": 1, "(other)": 1}, "two UTF-16 units"


@given(
    st.lists(st.tuples(st.sampled_from(["", "list"]), st.sampled_from("abcde"), st.integers(0, 10)), max_size=60),
    st.integers(0, 60),
)
def test_counts_do_not_depend_on_folding_progress(events, folded):
    """The counts are the same, regardless of how many events are already folded."""
    lines = [
        event("" if reason else name * 8, hour=hour, reason=reason)
        for reason, name, hour in sorted(events, key=lambda e: e[2])
    ]
    whole = counted([log_row(*lines)])
    done, rest = lines[:folded], lines[folded:]
    days, hours = folded_rows(done)
    again = counted([log_row(*rest)], days=days, hours=hours)
    assert again.days == whole.days
    assert again.hours == whole.hours


def folded_rows(lines: list[list[object]]) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """Return the day and hour rows for these events, from a simple count."""
    if not lines:
        return [], []
    people = [line for line in lines if not line[2]]
    totals = {"views": len(people), "bots": Counter(str(line[2]) for line in lines if line[2])}
    hours = []
    for hour in sorted({int(str(line[1])) for line in lines}):
        of_hour = [line for line in lines if line[1] == hour]
        seen = sorted({str(line[3]) for line in of_hour if not line[2]})
        views = sum(1 for line in of_hour if not line[2])
        hours.append(
            {
                "day": DAY,
                "hour": hour - DAY * 24,
                "views": views,
                "bots": len(of_hour) - views,
                "visitors": json.dumps(seen),
            }
        )
    return [{"day": DAY, "totals": json.dumps(totals)}], hours
