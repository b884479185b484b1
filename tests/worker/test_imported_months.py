"""The rows of imported months: their limits, their statements, and how reports read them."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc.clock import day_number, month_of
from svc.model import Counts, Dimension
from svc.worker.bundle import load_bundle
from svc.worker.imported_months import encode_month, kept_months, write_statements
from svc.worker.months import MonthState, sum_months, whole_months

pytestmark = pytest.mark.rule("Y10")

LIMITS = load_bundle().site_month
JUNE_1 = day_number("2026-06-01")
JUNE = month_of(JUNE_1)
TABLE = (Path(__file__).parents[2] / "edge_worker/src/schema/0002-months.sql").read_text()
LISTS: tuple[Dimension, ...] = ("pages", "sources", "countries", "devices", "browsers", "os", "campaigns", "entries")


@given(
    st.dictionaries(
        st.sampled_from(LISTS),
        st.dictionaries(st.text(max_size=200), st.integers(1, 10**12), max_size=101),
    )
)
def test_rows_fit_their_limits_and_keep_every_sum(lists):
    text = encode_month(JUNE_1, Counts(10**12, 0, 10**12), lists, LIMITS)
    row = json.loads(text)
    assert len(text.encode()) <= LIMITS.bytes
    for name, tally in lists.items():
        kept = row.get(name, {})
        assert sum(kept.values()) == sum(tally.values())
        assert len(kept) <= LIMITS.lists[name].keys + 1
        assert all(n == tally[key] for key, n in kept.items() if key != "(other)")


def test_largest_row_is_as_large_as_its_lists_allow():
    lists = {name: {f"/{n:03}{'é' * 95}": 10**12 - n for n in range(101)} for name in LISTS}
    row = json.loads(encode_month(JUNE_1, Counts(1, 0, 1), lists, LIMITS))
    assert all(len(row[name]) > 1 for name in ("pages", "sources", "entries"))


def test_statements_write_new_and_imported_rows_and_leave_those_of_the_worker():
    months = [*range(JUNE - 70, JUNE), JUNE + 1]
    rows = {
        month: encode_month(JUNE_1, Counts(7), {"pages": {"/'; drop table month --": 7}}, LIMITS) for month in months
    }
    statements = write_statements("site_a", rows)
    assert [len(parameters) for _, parameters in statements] == [61, 61, 23]
    assert "drop" not in json.dumps(statements)
    with closing(sqlite3.connect(":memory:")) as database:
        # D1 has this function of SQLite 3.41, but older SQLite versions do not
        database.create_function("unhex", 1, bytes.fromhex)
        database.execute(TABLE)
        database.execute("insert into month values (?, 'site_a', '{\"from\":1}')", (JUNE + 1,))
        database.execute("insert into month values (?, 'site_a', '{\"imported\":true}')", (JUNE - 1,))
        for _ in range(2):
            for statement, parameters in statements:
                database.execute(statement, parameters)
        stored = dict(database.execute("select month, totals from month where target = 'site_a'"))
    assert stored == {**rows, JUNE + 1: '{"from":1}'}


def state(first: int, **more: object) -> MonthState:
    return MonthState.model_validate({"from": first, "month": JUNE + 1, **more})


def read(first: str, rows: list[tuple[int, str]], months: MonthState | None, kept_from: int = 0):
    asked = whole_months(day_number(first), day_number("2026-08-20"))
    return sum_months([{"month": month, "totals": text} for month, text in rows], asked, months, kept_from)


def test_reports_contain_imported_months_before_those_of_the_worker():
    imported = encode_month(JUNE_1 + 3, Counts(5), {"pages": {"/a": 5}}, LIMITS)
    own = json.dumps({"from": day_number("2026-07-01"), "views": 2, "visitors": 1, "pages": {"/a": 2}})
    rows = [(JUNE, imported), (JUNE + 1, own)]
    july = state(JUNE + 1, month=JUNE + 2)
    sums = read("2026-06-01", rows, july, kept_from=day_number("2026-07-20"))
    assert sums.lists["pages"] == {"/a": 7}
    assert sums.covered == [(JUNE_1 + 3, JUNE_1 + 29), (day_number("2026-07-01"), day_number("2026-07-31"))]
    # A Worker has no rows of its months until it has run and has deleted days.
    for months, kept_from in ((None, 0), (july, 0)):
        assert read("2026-06-01", rows, months, kept_from).lists["pages"] == {"/a": 5}


def test_months_before_the_kept_ones_are_neither_written_nor_read():
    imported = encode_month(JUNE_1, Counts(5), {"pages": {"/a": 5}}, LIMITS)
    # The Worker, which was installed in July or later, has deleted the months before July.
    for first in (JUNE + 1, JUNE + 2):
        deleted = state(first, month=JUNE + 2, kept_from=JUNE + 1)
        assert read("2026-06-01", [(JUNE, imported)], deleted).covered == []
        july = encode_month(day_number("2026-07-01"), Counts(5), {}, LIMITS)
        assert len(read("2026-06-01", [(JUNE, imported), (JUNE + 1, july)], deleted).imported) == 1
        assert kept_months([JUNE - 1, JUNE, JUNE + 1], deleted, None) == [JUNE + 1]
    assert kept_months([JUNE - 1, JUNE], state(JUNE + 1), None) == [JUNE - 1, JUNE]
    assert kept_months([JUNE - 1, JUNE], None, JUNE) == [JUNE]


def test_imported_month_with_a_day_of_another_month_is_rejected():
    with pytest.raises(ValueError, match="another month"):
        read("2026-06-01", [(JUNE, encode_month(JUNE_1 - 1, Counts(5), {}, LIMITS))], None)
