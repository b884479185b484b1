"""The counts of all targets in a Worker's database. No I/O.

The service reads these counts if it has lost pushed totals, and before it deletes the database.

`day` rows contain the counts for the most recent 14 to 35 days, depending on the account's setting, and for older days
whose month has not been added up yet. `hour` rows exist only for open days, to which the Worker still adds events. It
has not counted the visitors of these days yet. The table `outbox` contains
the queued parts: parts of pushes that the service has not acknowledged. Only these contain the hours of closed days
that were not sent, and the days that were deleted before they were sent.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import TypeAdapter, ValidationError

from svc.clock import DAY_MS, HOUR_MS, LAST_DAY
from svc.worker.pushed import LARGEST_COUNT, PushedPart
from svc.worker.rows import Row, Statement, integer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# The hours after the day ?1, and the visitors in these hours. `last_counts` adds other conditions to these texts.
OPEN_HOURS = (
    "select target, day, hour, views, bots, (select count(distinct value) from json_each(visitors)) as visitors"
    " from hour where day > cast(?1 as integer)"
)
OPEN_VISITORS = (
    "select target, day, count(distinct hash.value) as visitors from hour, json_each(hour.visitors) as hash"
    " where day > cast(?1 as integer)"
)
_CLOSED_HOURS = f"{OPEN_HOURS} and (day * 24 + hour + 1) * 3600000 <= cast(?2 as integer)"
_DAY_VISITORS = f"{OPEN_VISITORS} group by target, day"
_DAYS = (
    "select target, day, totals ->> '$.views' as views, totals -> '$.bots' as bots,"
    " coalesce(totals ->> '$.visitors', 0) as visitors from day"
    " where day >= cast(?1 as integer) and (target, day) > (?2, cast(?3 as integer)) order by target, day limit 2000"
)
# As many parts as the Worker sends in one push. A part usually has at most 120,000 characters
# (edge_worker/src/outbox.js), and the client accepts responses of up to 16 MB.
_QUEUED = "select id, part from outbox where id > cast(?1 as integer) order by id limit 20"
_PART = TypeAdapter(PushedPart)


@dataclass(frozen=True)
class TargetCounts:
    """One target's counts for a day, or for the hour that begins at `at` (epoch ms).

    Raises ValueError for values that a push could not contain.
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
            raise ValueError("not a valid count")

    @property
    def row(self) -> tuple[str, int, int, int]:
        """The counts as a row of a push: target, views, bots, visitors."""
        return self.target, self.views, self.bots, self.visitors


def open_statements(closed_day: int, as_of: int) -> list[Statement]:
    """Return the two statements for the days after `closed_day`: one for hours up to `as_of`, and one for visitors."""
    return [(_CLOSED_HOURS, [str(closed_day), str(as_of)]), (_DAY_VISITORS, [str(closed_day)])]


def days_statement(first_day: int, after: TargetCounts | None) -> Statement:
    """Return the statement that reads the next rows of the table `day` since `first_day`, by target, after `after`."""
    target, day = ("", -1) if after is None else (after.target, after.day)
    return _DAYS, [str(first_day), target, str(day)]


def queued_statement(after: Row | None) -> Statement:
    """Return the statement that reads the next queued parts after the row `after`."""
    return _QUEUED, ["-1" if after is None else str(after["id"])]


def queued_of(rows: Sequence[Row]) -> list[PushedPart]:
    """Parse the rows of `queued_statement`. Skip parts that the Worker cannot have written."""
    parts = []
    for row in rows:
        # Like the Worker, insert the id into the JSON of the part.
        with suppress(ValidationError):
            parts.append(_PART.validate_json(f'{{"id":{row["id"]},{str(row["part"])[1:]}'))
    return parts


def hours_of(rows: Sequence[Row]) -> list[TargetCounts]:
    """Parse the rows of the first statement of `open_statements`. Raises KeyError or ValueError if a row is invalid."""
    return [
        _counts(row, integer(row["bots"]), (integer(row["day"]) * 24 + integer(row["hour"])) * HOUR_MS) for row in rows
    ]


def visitors_of(rows: Sequence[Row]) -> dict[tuple[str, int], int]:
    """Parse the rows of the second statement of `open_statements`. Return the visitors by target and open day.

    Raises KeyError or ValueError if a row is invalid.
    """
    return {(str(row["target"]), integer(row["day"])): integer(row["visitors"]) for row in rows}


def days_of(rows: Sequence[Row], open_visitors: Mapping[tuple[str, int], int]) -> list[TargetCounts]:
    """Parse the rows of `days_statement`, and add the visitors of open days.

    Raises KeyError, TypeError or ValueError if a row is invalid.
    """
    days = []
    for row in rows:
        counts = _counts(row, sum(json.loads(str(row["bots"] or "{}")).values()))
        visitors = open_visitors.get((counts.target, counts.day), counts.visitors)
        days.append(TargetCounts(counts.target, counts.day, counts.views, counts.bots, visitors))
    return days


def _counts(row: Row, bots: int, at: int | None = None) -> TargetCounts:
    views, visitors = integer(row["views"]), integer(row["visitors"])
    return TargetCounts(str(row["target"]), integer(row["day"]), views, bots, visitors, at)
