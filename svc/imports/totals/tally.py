"""What an export says, summed up by target and day.

It is kept in a temporary database on disk: the sessions of an export of all page views, of which each day's are
counted, and the days of all targets of a service, need no memory.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from contextlib import closing, contextmanager
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from svc.clock import day_text
from svc.model import Counts

if TYPE_CHECKING:
    from collections.abc import Iterator

# More than any target has in a day. Sums of such numbers stay exact for every client.
LARGEST = 10**12
_SHOWN = 100
# Visits in memory, and the characters of their sessions.
_BATCH = 10_000
_BATCH_CHARACTERS = 1 << 21


class Name(NamedTuple):
    """What days belong to: kind `site` or `link`, its host or code, and the edge account where one is named."""

    kind: str
    name: str
    edge_account_id: str = ""


class Refused:
    """The lines that cannot be taken, and why: the first hundred, and how many."""

    def __init__(self) -> None:
        self.first: list[tuple[int, str]] = []
        self.count = 0

    def add(self, line: int, reason: str) -> None:
        """A line that cannot be taken; 0 is none of the file's lines."""
        self.count += 1
        if len(self.first) < _SHOWN:
            self.first.append((line, reason))


class Tally:
    """Rows that are days, or page views that are counted; `today` is the last day that can be told of."""

    def __init__(self, database: sqlite3.Connection, today: int) -> None:
        self._database = database
        self._today = today
        self.refused = Refused()
        self._views: defaultdict[int, int] = defaultdict(int)
        self._bots: defaultdict[int, int] = defaultdict(int)
        self._visits: set[tuple[int, str]] = set()
        self._characters = 0

    def is_day(self, line: int, day: int) -> bool:
        """Whether a day can be told of; it is refused otherwise."""
        if day < 0:
            self.refused.add(line, f"{day_text(day)} is before 1970")
        elif day > self._today:
            self.refused.add(line, f"{day_text(day)} has not come yet")
        else:
            return True
        return False

    def add_day(self, line: int, day: int, counts: Counts, name: Name | None = None, target: str = "") -> None:
        """What a target counted on a day; the first of two rows with different numbers counts."""
        if not self.is_day(line, day):
            return
        key = (name.edge_account_id, name.kind, name.name, target, day) if name else ("", "", "", target, day)
        numbers = (counts.views, counts.bots, counts.visitors)
        if max(numbers) > LARGEST:
            self.refused.add(line, f"{day_text(day)} has a number above {LARGEST}")
            return
        added = self._database.execute(
            "insert into day values (?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict do nothing", (*key, *numbers, line)
        )
        if added.rowcount == 1:
            return
        [*stored, first] = self._database.execute(
            "select views, bots, visitors, line from day"
            " where (edge_account_id, kind, name, target, day) = (?, ?, ?, ?, ?)",
            key,
        ).fetchone()
        if tuple(stored) != numbers:
            self.refused.add(line, f"line {first} has the same day with other numbers")

    def add_view(self, day: int, session: str) -> None:
        """A person's view of a page; without a session it makes no visitor."""
        self._views[day] += 1
        if session:
            self._visits.add((day, session))
            self._characters += len(session)
            if len(self._visits) >= _BATCH or self._characters >= _BATCH_CHARACTERS:
                self._keep_visits()

    def add_views(self, day: int, views: int) -> None:
        """Views that were counted already."""
        self._views[day] += views

    def add_bot(self, day: int) -> None:
        """A bot's hit."""
        self._bots[day] += 1

    def count_views(self) -> None:
        """Make days of the views and hits that were added."""
        self._keep_visits()
        visitors = dict(self._database.execute("select day, count(*) from visit group by day"))
        for day in sorted({*self._views, *self._bots}):
            self.add_day(0, day, Counts(self._views[day], self._bots[day], visitors.get(day, 0)))

    def names(self) -> list[Name | None]:
        """The names in the file; None: it names nothing."""
        rows = self._database.execute("select distinct kind, name, edge_account_id from day order by 3, 1, 2")
        return [Name(*row) if row[0] else None for row in rows]

    def targets(self) -> Iterator[tuple[Name | None, dict[str, dict[int, Counts]]]]:
        """For each name of the file its days, by the targets that had this name; None: the file names nothing."""
        rows = self._database.execute(
            "select edge_account_id, kind, name, target, day, views, bots, visitors from day"
            " order by edge_account_id, kind, name, target, day"
        )
        for (edge_account_id, kind, name), of_name in groupby(rows, key=lambda row: row[:3]):
            days: dict[str, dict[int, Counts]] = {}
            for _, _, _, target, day, *numbers in of_name:
                days.setdefault(target, {})[day] = Counts(*numbers)
            yield (Name(kind, name, edge_account_id) if kind else None), days

    def _keep_visits(self) -> None:
        self._database.executemany("insert into visit values (?, ?) on conflict do nothing", sorted(self._visits))
        self._visits.clear()
        self._characters = 0


@contextmanager
def tally(today: int) -> Iterator[Tally]:
    """An empty tally, on disk, gone at the end."""
    with closing(sqlite3.connect("", isolation_level=None)) as database:  # no name: a temporary file
        database.executescript(
            "create table day (edge_account_id, kind, name, target, day, views, bots, visitors, line,"
            " primary key (edge_account_id, kind, name, target, day)) without rowid;"
            "create table visit (day, session, primary key (day, session)) without rowid;"
            "pragma journal_mode = off; pragma synchronous = off; begin"
        )
        yield Tally(database, today)
