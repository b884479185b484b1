"""Tests of the comparison of accepted, counted, pushed and stored events."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from svc.clock import DAY_MS, HOUR_MS, day_text
from svc.worker.ledger import (
    Events,
    Stored,
    WorkerDay,
    compare,
    compare_target,
    read_day,
    read_target_day,
    statements,
    target_statements,
)

if TYPE_CHECKING:
    from svc.worker.rows import Statement

DAY = 20_000
TARGET = "site_a"


def lines(*items: list[Any]) -> str:
    return "".join(json.dumps(item) + "\n" for item in items)


def rows(
    *,
    closed_day: int = DAY - 1,
    since: int = 0,
    ledger: dict[str, Any] | None = None,
    log: str = "",
    pages: str = "",
    parts: int = 0,
    queued: tuple[int, int] | None = None,
    state_after: str | None = None,
    folded: tuple[int, int] | None = None,
    kept_from: int = 0,
) -> list[list[dict[str, Any]]]:
    """Return the result rows of the statements that read the Worker's database."""

    def of_target(counts: tuple[int, int] | None) -> list[dict[str, Any]]:
        return [] if counts is None else [{"target": TARGET, "views": counts[0], "bots": counts[1]}]

    state = json.dumps({"day": closed_day, "since": since, "kept_from": kept_from})
    return [
        [{"value": state}],
        [{"entry": entry, "counts": json.dumps(counts)} for entry, counts in (ledger or {}).items()],
        [{"tally": log}] if log else [],
        [{"lines": pages}] if pages else [],
        [{"parts": parts}],
        of_target(queued),
        of_target(folded),
        of_target(folded),
        [{"value": state_after or state}],
    ]


@pytest.mark.rule("X5", "W4")
def test_events_in_log_and_pages_are_accepted_and_waiting():
    found = read_day(
        rows(
            ledger={"accepted": {TARGET: [5, 1], "": [2, 0]}, "busy": {TARGET: [1, 0], "": [2, 0]}},
            log=lines([TARGET, DAY, 3, 1], [TARGET, DAY, 1, 0, "busy"], [TARGET, DAY - 1, 9, 9])
            + lines(["", DAY, 4, 0, "invalid"]),
            pages=lines(
                [TARGET, DAY * 24, "", "v", "/", "", "DE|phone|Firefox|Android"], [TARGET, DAY * 24 + 23, "head", ""]
            )
            + lines([TARGET, DAY * 24 - 1, "", "v"]),
            folded=(3, 0),
        ),
        DAY,
    )
    assert found is not None
    [line] = compare(found, {}, {TARGET: Stored()})
    assert (line.accepted, line.waiting, line.counted) == (Events(8, 2), Events(3, 2), Events(3, 0))
    assert line.dropped == {"busy": 2}
    assert (line.agrees, line.fault) == (True, None)
    assert found.all_drops == {"busy": 4, "invalid": 4}


def test_day_before_the_first_count_is_unknown():
    assert read_day(rows(since=(DAY + 1) * DAY_MS), DAY) is None
    assert read_day(rows(since=(DAY + 1) * DAY_MS - HOUR_MS), DAY) is not None
    # The database is new, and no cron has run yet.
    new = rows(state_after="{}")
    new[0] = new[-1]
    assert read_day(new, DAY) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"ledger": {"accepted": [1]}},
        {"ledger": {"accepted": {TARGET: [1, 2, 3]}}},
        {"ledger": {"accepted": {TARGET: ["x", 0]}}},
        {"ledger": {"accepted": {TARGET: [-1, 0]}}},
        {"ledger": {"busy": {TARGET: [0, -1]}}},
        {"log": lines([TARGET, DAY, 1, 0, "busy"])},
        {"folded": (-1, 0)},
        {"queued": (0, -1)},
        {"since": -(10**18)},
        {"kept_from": -1},
        {"log": "x\n"},
        {"log": lines([TARGET])},
        {"log": "5\n"},
        {"pages": lines([TARGET, "x", "", ""])},
    ],
)
def test_invalid_rows_are_rejected(wrong):
    with pytest.raises((ValueError, TypeError, KeyError)):
        read_day(rows(**wrong), DAY)
    with pytest.raises(ValueError, match="empty"):
        read_day([[], *rows()[1:-1], []], DAY)


@pytest.mark.rule("X5")
def test_read_fails_if_a_cron_run_changed_the_state():
    with pytest.raises(ValueError, match="changed"):
        read_day(rows(state_after='{"day": 1}'), DAY)


def create_tables(database: sqlite3.Connection) -> None:
    for migration in Path("edge_worker/src/schema").glob("*.sql"):
        database.executescript(migration.read_text())


def run(database: sqlite3.Connection, batch: list[Statement]) -> list[list[dict[str, Any]]]:
    """Return the rows of each statement, as D1 does."""
    found = []
    for sql, params in batch:
        cursor = database.execute(sql, {str(i): value for i, value in enumerate(params, 1)})
        found.append([dict(zip([column[0] for column in cursor.description], row, strict=True)) for row in cursor])
    return found


@pytest.mark.rule("X5")
def test_statement_of_one_target_is_its_line_of_the_accounts_statement():
    event = [DAY * 24, "", "v", "/", "", "DE|phone|Firefox|Android"]
    ledger = {
        "accepted": {"site_a": [5, 1], "site_b": [2, 0], "": [1, 0]},
        "busy": {"site_b": [1, 0]},
        "pushed": {"site_a": [3, 1], "lnk_c": [7, 0]},
    }
    part = {"day": day_text(DAY), "days": [["site_a", 4, 1, 2], ["lnk_c", 8, 0, 1]]}
    with closing(sqlite3.connect(":memory:")) as database:
        create_tables(database)
        database.execute("update meta set value = ? where key = 'state'", [f'{{"day": {DAY - 1}, "since": 0}}'])
        database.executemany(
            "insert into ledger values (?, ?, ?)",
            [(day, entry, json.dumps(counts)) for day in (DAY, DAY - 1) for entry, counts in ledger.items()],
        )
        database.executemany(
            "insert into day values (?, ?, ?)",
            [("site_a", DAY, '{"views": 4, "bots": {"head": 1}}'), ("lnk_c", DAY, '{"views": 8}')],
        )
        database.execute("insert into outbox values (1, 0, ?)", [json.dumps(part, separators=(",", ":"))])
        page = lines(["site_a", *event], ["lnk_c", *event], ["site_b", *event], ["site_b", DAY * 24, "head", ""])
        database.execute("insert into event_page (lines) values (?)", [page])
        tally = lines(["site_a", DAY, 1, 0], ["site_b", DAY, 1, 0, "too_old"], ["", DAY, 1, 0, "invalid"])
        database.execute("insert into event_log (id, lines, tally) values (1, '', ?)", [tally])

        stored = {"site_a": Stored(Events(3, 1)), "site_b": Stored(), "lnk_c": Stored(Events(9, 0))}
        whole = read_day(run(database, statements(DAY, stored)), DAY)
        assert whole is not None
        by_target = {line.target: line for line in compare(whole, stored, stored)}
        assert {target: line.agrees for target, line in by_target.items()} == {
            "site_a": True, "site_b": False, "lnk_c": False,
        }  # fmt: skip
        states = run(database, [("select value from meta where key = 'state'", [])])[0]
        for target in by_target:
            pages = run(database, [("select lines from event_page where instr(lines, ?1) > 0", [target])])[0]
            found = read_target_day(run(database, target_statements(DAY, target)), pages, states, DAY, target)
            assert found is not None
            assert compare_target(found, target, stored.get(target), stored.get(target)) == by_target[target]


@pytest.mark.rule("X5")
def test_statements_run_on_tables_with_invalid_json():
    with closing(sqlite3.connect(":memory:")) as database:
        create_tables(database)
        part = json.dumps({"day": day_text(DAY), "days": [[TARGET, 3, 0, 1], 5, "x", [None, 1], {"a": 1}]})
        database.executescript(f"""
            update meta set value = 'x' where key = 'state';
            insert into ledger values ({DAY}, 'accepted', '['), ({DAY}, 'pushed', '5');
            insert into day values ('{TARGET}', {DAY}, 'x'), ('other', {DAY}, '{{"bots": [9223372036854775807, 1]}}');
            insert into outbox values (1, 0, '{{"day":"{day_text(DAY)}"'), (2, 0, '{part}');
        """)
        found = run(database, statements(DAY, dict.fromkeys(("other", TARGET), MATCHING)))
        assert found[4] == [{"parts": 2}]
        assert {"target": TARGET, "views": 3, "bots": 0} in found[5]
        assert found[7] == [
            {"target": "other", "views": None, "bots": 2**63 - 1},
            {"target": TARGET, "views": None, "bots": 0},
        ]
        of_target = run(database, target_statements(DAY, TARGET))
        assert of_target[1] == []
        assert of_target[4] == [{"target": TARGET, "views": 3, "bots": 0}]
        assert of_target[5] == [{"target": TARGET, "views": None, "bots": 0}]


def worker_day(**more: Any) -> WorkerDay:
    """Return a closed day that has no differences apart from the changes in `more`."""
    whole = {"accepted": Events(5, 1), "folded": Events(5, 1), "pushed": Events(5, 1)}
    events = {name: {TARGET: value} for name, value in {**whole, **more}.items() if isinstance(value, Events)}
    rest = {name: value for name, value in more.items() if not isinstance(value, Events)}
    return WorkerDay(**{"closed": True, **events, **rest})


def open_day(**more: Any) -> WorkerDay:
    """Return a WorkerDay like `worker_day`, but for a day that is not closed."""
    return worker_day(closed=False, **more)


MATCHING = Stored(Events(5, 1), Events(4, 1))


@pytest.mark.rule("X5")
def test_day_with_deleted_totals_is_compared_without_them():
    ledger = {"accepted": {TARGET: [6, 1]}, "too_old": {TARGET: [1, 0]}, "pushed": {TARGET: [5, 1]}}
    for kept_from, counted in ((DAY, Events()), (DAY + 1, None)):
        found = read_day(rows(closed_day=DAY + 20, ledger=ledger, kept_from=kept_from), DAY)
        assert found is not None
        [line] = compare(found, {TARGET: MATCHING}, {TARGET: MATCHING})
        assert line.counted == counted
        assert (line.agrees, line.fault) == ((True, None) if counted is None else (False, "counting"))
    # The Worker has deleted the counts of this day, so pushed and stored events are compared with accepted events.
    deleted = worker_day(folded=Events(), has_totals=False)
    for worker, stored, fault in (
        (deleted, MATCHING, None),
        (replace(deleted, accepted={TARGET: Events(6, 1)}), MATCHING, "push"),
        (deleted, Stored(Events(4, 1)), "store"),
        (replace(deleted, pushed={}, queued={TARGET: Events(5, 1)}), Stored(), None),
        (replace(deleted, pushed={}, refused={TARGET: Events(5, 1)}), Stored(), "refused"),
    ):
        [line] = compare(worker, {TARGET: stored}, {TARGET: stored})
        assert (line.fault, line.agrees) == (fault, fault is None)


@pytest.mark.rule("X5")
@pytest.mark.parametrize(
    ("worker", "stored", "fault", "off_by"),
    [
        (worker_day(), MATCHING, None, None),
        # Dropped events are not a fault. Events that are missing, counted twice or counted as bots are a fault.
        (worker_day(accepted=Events(7, 1), dropped={TARGET: {"too_old": Events(2, 0)}}), MATCHING, None, None),
        (worker_day(accepted=Events(6, 1)), MATCHING, "counting", Events(-1, 0)),
        (worker_day(accepted=Events(6, 0)), MATCHING, "counting", Events(-1, 1)),
        (worker_day(accepted=Events(4, 1)), MATCHING, "counting", Events(1, 0)),
        (worker_day(folded=Events(9, 1)), MATCHING, "counting", Events(4, 0)),
        # The events of a closed day must all be pushed, or queued for a push.
        (worker_day(pushed=Events(3, 1)), replace(MATCHING, total=Events(4, 1)), "push", Events(-2, 0)),
        (worker_day(pushed=Events(3, 1), queued_parts=1), MATCHING, "push", Events(-2, 0)),
        (worker_day(pushed=Events(3, 1), queued=Events(4, 1)), Stored(Events(3, 1)), "push", Events(-1, 0)),
        # The last part is still waiting to be pushed, or its acknowledgement was lost.
        (worker_day(pushed=Events(3, 1), queued=Events(5, 1)), Stored(Events(3, 1)), None, None),
        (worker_day(pushed=Events(3, 1), queued=Events(5, 1)), MATCHING, None, None),
        (worker_day(pushed=Events(3, 1), queued=Events(5, 1)), Stored(Events(2, 1)), "store", Events(-1, 0)),
        (worker_day(pushed=Events(), queued=Events(5, 1)), Stored(), None, None),
        (worker_day(pushed=Events(3, 1), refused=Events(5, 1)), MATCHING, "refused", Events(-2, 0)),
        (worker_day(pushed=Events(), unknown=Events(5, 1)), Stored(), "unknown_target", Events(-5, -1)),
        # An open day may be partly pushed. Parts that were sent but not acknowledged may be stored.
        (open_day(pushed=Events(3, 1)), Stored(Events(3, 1)), None, None),
        (open_day(pushed=Events(3, 1)), Stored(Events(4, 1)), "store", Events(1, 0)),
        (open_day(pushed=Events(3, 1), queued=Events(4, 1)), Stored(Events(4, 1)), None, None),
        (open_day(pushed=Events(3, 1), queued=Events(4, 1)), Stored(Events(5, 1)), "store", Events(2, 0)),
        (open_day(pushed=Events(3, 1), queued=Events(6, 1)), Stored(Events(3, 1)), "push", Events(1, 0)),
        (open_day(pushed=Events(6, 1)), Stored(Events(6, 1)), "push", Events(1, 0)),
        (worker_day(), Stored(Events(4, 1)), "store", Events(-1, 0)),
        (worker_day(), Stored(), "store", Events(-5, -1)),
        # The hours add up to more than the total, because the Worker's database was emptied or restored during the day.
        (worker_day(), replace(MATCHING, hours=Events(8, 1)), "set_back", Events(-3, 0)),
    ],
)
def test_fault_is_the_first_step_with_a_difference(worker, stored, fault, off_by):
    [line] = compare(worker, {TARGET: stored}, {TARGET: stored})
    assert (line.fault, line.off_by, line.agrees) == (fault, off_by, fault is None)


@pytest.mark.rule("X5")
def test_push_during_the_read_is_not_a_fault():
    before, after = Stored(Events(3, 1)), Stored(Events(5, 1))
    for pushed in (before.total, after.total):
        worker = open_day(pushed=pushed)
        [line] = compare(worker, {TARGET: before}, {TARGET: after})
        assert line.agrees
    [line] = compare(open_day(pushed=Events(4, 1)), {TARGET: before}, {TARGET: after})
    assert line.fault == "store"


@pytest.mark.rule("X5")
def test_stored_total_without_worker_counts_is_a_fault():
    stored = {TARGET: Stored(Events(2, 0)), "site_quiet": Stored()}
    [line] = compare(WorkerDay(closed=True), stored, stored)
    assert (line.fault, line.off_by) == ("store", Events(2, 0))
    [line] = compare(None, stored, stored)
    assert (line.agrees, line.accepted, line.stored) == (None, None, Events(2, 0))


@pytest.mark.rule("X5")
def test_target_of_an_earlier_connect_is_unknown_target():
    [line] = compare(worker_day(), {}, {"site_own": Stored()})
    assert (line.target, line.fault, line.off_by) == (TARGET, "unknown_target", Events(-5, -1))
