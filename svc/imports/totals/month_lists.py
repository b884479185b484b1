"""Adds up the lists of an export (pages, sources, …) by month.

The sums are in a temporary database on disk, because they may not fit in memory.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from svc.clock import month_of
from svc.imports.temporary import Database, temporary_database
from svc.imports.totals.table import Wrong
from svc.imports.totals.tally import LARGEST

if TYPE_CHECKING:
    from collections.abc import Iterator

    from svc.model import Dimension

# The maximum number of keys that are returned for each list. A month's row in the Worker's database has fewer keys.
_MOST_KEYS = 100
_OTHER = "(other)"

# The lists of a month: for each breakdown, the counts by key.
Lists = dict["Dimension", dict[str, int]]


class TooManyRows(Exception):
    """Raised if an export's lists have too many rows. The daily totals can still be imported."""


class MonthLists:
    """The sums of an export's lists by month. `most_rows`: the maximum number of rows in all files together."""

    def __init__(self, database: Database, most_rows: int) -> None:
        self._database = database
        self._most_rows = most_rows
        self._rows = 0
        self._month_of = cache(month_of)

    def count_row(self) -> None:
        """Count a row of a file. Raises TooManyRows."""
        self._rows += 1
        if self._rows > self._most_rows:
            raise TooManyRows

    def add(self, day: int, dimension: Dimension, key: str, n: int) -> None:
        """Add a count to the month of a day (day number). Raises Wrong if the sum is too large."""
        if n == 0:
            return
        added = self._database.execute(
            "insert into listed values (?1, ?2, ?3, ?4) on conflict do update set n = n + excluded.n"
            " where n + excluded.n <= ?5",
            (self._month_of(day), dimension, key, n, LARGEST),
        )
        if added.rowcount == 0:
            raise Wrong(f"the month has a number above {LARGEST}")

    def months(self) -> dict[int, Lists]:
        """Return the lists by month (the number of months since the year 0).

        Each list has at most 100 keys. The counts of all other keys are added to `(other)`.
        """
        rows = self._database.execute(
            "select month, dimension, iif(place > ?1, ?2, key) as shown, sum(n) from (select *, row_number() over"
            " (partition by month, dimension order by n desc, key) as place from listed) group by 1, 2, 3",
            (_MOST_KEYS, _OTHER),
        )
        months: dict[int, Lists] = {}
        for month, dimension, key, n in rows:
            months.setdefault(month, {}).setdefault(dimension, {})[key] = n
        return months


@contextmanager
def month_lists(most_rows: int) -> Iterator[MonthLists]:
    """Return a context manager that yields empty sums, and deletes them at the end of the block. Raises CannotWrite."""
    tables = "create table listed (month, dimension, key, n, primary key (month, dimension, key)) without rowid;"
    with temporary_database(tables) as database:
        yield MonthLists(database, most_rows)
