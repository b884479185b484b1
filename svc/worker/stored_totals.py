"""The counts that the worker keeps, of all targets, for a service that has lost what it was sent. Pure.

Its `day` rows hold the counts of the days that the account keeps (14 to 35); its `hour` rows only those of days that
are not closed, which have no count of visitors yet. The counts of a day that is deleted and was not sent are in the
parts that wait in its `outbox`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from svc.clock import DAY_MS, HOUR_MS, LAST_DAY
from svc.worker.pushed import LARGEST_COUNT
from svc.worker.rows import Row, Statement, integer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_OPEN_HOURS = (
    "select target, day, hour, views, bots, (select count(distinct value) from json_each(visitors)) as visitors"
    " from hour where day > cast(?1 as integer) and (day * 24 + hour + 1) * 3600000 <= cast(?2 as integer)"
)
_OPEN_DAYS = (
    "select target, day, count(distinct hash.value) as visitors from hour, json_each(hour.visitors) as hash"
    " where day > cast(?1 as integer) group by target, day"
)
_DAYS = (
    "select target, day, totals ->> '$.views' as views, totals -> '$.bots' as bots,"
    " coalesce(totals ->> '$.visitors', 0) as visitors from day"
    " where day >= cast(?1 as integer) and (target, day) > (?2, cast(?3 as integer)) order by target, day limit 2000"
)
# A closed day's final parts have its whole totals, and name each of its targets once. A part has up to 2 MB, and an
# answer of the platform's API is read up to 16 MB.
_PART = "case when json_valid(part) then part else '{}' end"
_PART_DAY = f"unixepoch({_PART} ->> 'day') / 86400"
_QUEUED = (
    f"select id, {_PART_DAY} as day, {_PART} -> '$.days' as days from outbox where id > cast(?2 as integer)"  # noqa: S608  # names of this file
    f" and {_PART} ->> 'final' and {_PART_DAY} < cast(?1 as integer) order by id limit 7"
)


@dataclass(frozen=True)
class TargetCounts:
    """What one target counted on a day, or in the hour of it that begins at `at` (epoch ms).

    Raises ValueError for what no worker counts, and no push could bring.
    """

    target: str
    day: int
    views: int
    bots: int
    visitors: int
    at: int | None = None

    def __post_init__(self) -> None:
        counts = all(0 <= count <= LARGEST_COUNT for count in (self.views, self.bots, self.visitors))
        in_its_day = self.at is None or self.at // DAY_MS == self.day
        if not (counts and 0 <= self.day <= LAST_DAY and in_its_day) or "\0" in self.target:
            raise ValueError("not a count of the worker's")

    @property
    def row(self) -> tuple[str, int, int, int]:
        """As a push has it: target, views, bots, visitors."""
        return self.target, self.views, self.bots, self.visitors


def open_statements(closed_day: int, as_of: int) -> list[Statement]:
    """The statements for what is not closed: closed hours (up to `as_of`) and visitors of days after `closed_day`."""
    return [(_OPEN_HOURS, [str(closed_day), str(as_of)]), (_OPEN_DAYS, [str(closed_day)])]


def days_statement(first_day: int, after: TargetCounts | None) -> Statement:
    """The statement for the next rows from `first_day` on, in order of targets; `after`: the last one known."""
    target, day = ("", -1) if after is None else (after.target, after.day)
    return _DAYS, [str(first_day), target, str(day)]


def queued_statement(before_day: int, after: Row | None) -> Statement:
    """The statement for the next parts that wait of closed days before `before_day`; `after`: the last row known."""
    return _QUEUED, [str(before_day), "-1" if after is None else str(after["id"])]


def queued_of(rows: Sequence[Row]) -> list[TargetCounts]:
    """The rows of `queued_statement`. Raises KeyError, TypeError, ValueError on what the worker did not write."""
    return [
        TargetCounts(str(target), integer(row["day"]), integer(views), integer(bots), integer(visitors))
        for row in rows
        for target, views, bots, visitors in json.loads(str(row["days"]))
    ]


def hours_of(rows: Sequence[Row]) -> list[TargetCounts]:
    """The rows of the first statement. Raises KeyError, ValueError on what the worker did not write."""
    return [
        _counts(row, integer(row["bots"]), (integer(row["day"]) * 24 + integer(row["hour"])) * HOUR_MS) for row in rows
    ]


def visitors_of(rows: Sequence[Row]) -> dict[tuple[str, int], int]:
    """The visitors of each target and open day. Raises KeyError, ValueError."""
    return {(str(row["target"]), integer(row["day"])): integer(row["visitors"]) for row in rows}


def days_of(rows: Sequence[Row], open_visitors: Mapping[tuple[str, int], int]) -> list[TargetCounts]:
    """The rows of `days_statement`, with the visitors of open days. Raises KeyError, TypeError, ValueError."""
    found = []
    for row in rows:
        counts = _counts(row, sum(json.loads(str(row["bots"] or "{}")).values()))
        visitors = open_visitors.get((counts.target, counts.day), counts.visitors)
        found.append(TargetCounts(counts.target, counts.day, counts.views, counts.bots, visitors))
    return found


def _counts(row: Row, bots: int, at: int | None = None) -> TargetCounts:
    views, visitors = integer(row["views"]), integer(row["visitors"])
    return TargetCounts(str(row["target"]), integer(row["day"]), views, bots, visitors, at)
