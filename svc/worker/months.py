"""Months in the Worker's database: the sums of a target's whole months, which remain after their days are deleted.

`docs/develop/worker-months.md` describes the format. This module does no I/O.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, Field

from svc.clock import LAST_DAY, first_day_of, month_of
from svc.model import DIMENSIONS, Dimension
from svc.worker.breakdowns import VISIT_LISTS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from svc.worker.rows import Row, Statement

# The first schema version of a Worker's database that has the table `month`.
SCHEMA = 2
# The age in days at which the Worker deletes a day even if the day's month has not been added up
# (edge_worker/src/kept_days.js).
MAX_DAYS_STORED = 67
_Day = Annotated[int, Field(ge=0, le=LAST_DAY)]
# The statement looks up months by their key, so the number of rows read does not depend on the number of targets.
_OF_TARGET = "select month, totals from month where target = ?1 and month in (select value from json_each(?2))"


@dataclass(frozen=True)
class Month:
    """A calendar month. `number`: the number of months since the year 0. `first`, `last`: day numbers."""

    number: int
    first: int
    last: int


@dataclass
class MonthSums:
    """The sums of a target's months.

    `covered`: for each month, the first and the last day that its sum contains. `imported`: the same for imported
    months only. `numbers`: the numbers of all these months. `lists`: the sums of each breakdown. `unlisted_days`: the
    days (day numbers) that an older Worker counted without `VISIT_LISTS`. `has_visit_lists`: True if a month has these
    lists.
    """

    covered: list[tuple[int, int]] = field(default_factory=list)
    imported: list[tuple[int, int]] = field(default_factory=list)
    numbers: set[int] = field(default_factory=set)
    lists: dict[Dimension, dict[str, int]] = field(default_factory=dict)
    unlisted_days: set[int] = field(default_factory=set)
    has_visit_lists: bool = False

    def has(self, day: int) -> bool:
        """Return True if the day is in one of the months, even if that month's sum does not contain the day."""
        return bool(self.numbers) and month_of(day) in self.numbers


class MonthState(BaseModel):
    """The part of the Worker's state that says which months the Worker has added up.

    `from_`: the first of these months. `month`: the month after the last of them. `first_days`: for each incomplete
    month, the first day that its sum contains. `kept_from`: the first month after the months that the Worker has
    deleted because of their age, or 0 if it has deleted none.
    """

    from_: Annotated[int, Field(ge=0, alias="from")]
    month: Annotated[int, Field(ge=0)]
    first_days: dict[str, _Day] = {}
    kept_from: Annotated[int, Field(ge=0)] = 0


class _Row(BaseModel):
    from_: Annotated[_Day, Field(alias="from")]
    imported: bool = False
    unlisted: tuple[_Day, _Day] | None = None
    pages: dict[str, int] = {}
    sources: dict[str, int] = {}
    countries: dict[str, int] = {}
    devices: dict[str, int] = {}
    browsers: dict[str, int] = {}
    os: dict[str, int] = {}
    bots: dict[str, int] = {}
    campaigns: dict[str, int] = {}
    entries: dict[str, int] = {}
    arrivals: dict[str, int] = {}
    targets: dict[str, int] = {}
    outside: dict[str, int] = {}


def whole_months(first_day: int, last_day: int) -> list[Month]:
    """Return the calendar months that are completely within this range of day numbers."""
    months = []
    number = month_of(max(first_day, 0))
    while (last := first_day_of(number + 1) - 1) <= last_day:
        first = first_day_of(number)
        if first >= first_day:
            months.append(Month(number, first, last))
        number += 1
    return months


def month_statement(target_id: str, months: Sequence[Month]) -> Statement:
    """Return the statement with parameters that reads a target's rows for these months."""
    return _OF_TARGET, [target_id, json.dumps([month.number for month in months])]


def sum_months(rows: Sequence[Row], months: Sequence[Month], state: MonthState | None, kept_from: int) -> MonthSums:
    """Return the sums of imported months, and of months that the Worker has added up and whose first day is deleted.

    If the Worker has added up a month that has no row, the month had no events. Other months are skipped, because the
    caller adds up their days. `kept_from`: the first day that is not deleted. Raises ValueError, KeyError or TypeError
    if a row is malformed.
    """
    sums = MonthSums()
    stored = {int(str(row["month"])): _Row.model_validate_json(str(row["totals"])) for row in rows}
    for month in months:
        row = stored.get(month.number)
        is_imported = _is_imported(month, row, state)
        if not (is_imported or _is_added_up(month, state, kept_from)):
            continue
        first = _first_day(month, row, state)
        if not month.first <= first <= month.last + 1:
            raise ValueError("a month begins with a day of another month")
        sums.covered.append((first, month.last))
        if is_imported:
            sums.imported.append((first, month.last))
        sums.numbers.add(month.number)
        if row is not None:
            _add(sums, row, month)
    return sums


def _is_imported(month: Month, row: _Row | None, state: MonthState | None) -> bool:
    is_deleted = state is not None and month.number < state.kept_from
    return row is not None and row.imported and not is_deleted


def _is_added_up(month: Month, state: MonthState | None, kept_from: int) -> bool:
    return state is not None and state.from_ <= month.number < state.month and month.first < kept_from


def _first_day(month: Month, row: _Row | None, state: MonthState | None) -> int:
    if row is not None:
        return row.from_
    return month.first if state is None else state.first_days.get(str(month.number), month.first)


def _add(sums: MonthSums, row: _Row, month: Month) -> None:
    is_older = False
    if row.unlisted is not None:
        begin, end = row.unlisted
        if not month.first <= begin <= end <= month.last:
            raise ValueError("a month names days of another month")
        sums.unlisted_days.update(range(max(begin, row.from_), end + 1))
        is_older = row.unlisted == (month.first, month.last)
    sums.has_visit_lists |= not is_older
    for name in DIMENSIONS:
        counts: Mapping[str, int] = {} if is_older and name in VISIT_LISTS else getattr(row, name)
        of_all = sums.lists.setdefault(name, {})
        for key, n in counts.items():
            of_all[key] = of_all.get(key, 0) + n
