"""The tally: collects the totals of an export by target and day.

The totals are in a temporary database on disk, because they may not fit in memory. An export can contain every page
view with its session, or the days of all sites and links of a service.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from svc.clock import day_text
from svc.imports.reader import NotReadable
from svc.imports.temporary import Database, temporary_database
from svc.model import Counts

if TYPE_CHECKING:
    from collections.abc import Iterator

# The largest accepted number. It is larger than any real daily total, but small enough for exact sums in every API
# client.
LARGEST = 10**12
_SHOWN = 100
# The maximum number of visits in the memory buffer, and the maximum total length of their session ids.
_BATCH = 10_000
_BATCH_CHARACTERS = 1 << 21


class Name(NamedTuple):
    """The name of a site or link: kind (`site` or `link`), host or code, and Cloudflare account id if known."""

    kind: str
    name: str
    edge_account_id: str = ""


class Refused:
    """The number of invalid lines, and the line number and the reason of each of the first hundred.

    `most`: the maximum number of invalid lines. None means no limit.
    """

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self.first: list[tuple[int, str]] = []
        self.count = 0

    def add(self, line: int, reason: str) -> None:
        """Record an invalid line. Line 0 means that the line number is unknown.

        Raises NotReadable if there are too many invalid lines.
        """
        self.count += 1
        if self._most is not None and self.count > self._most:
            raise NotReadable(f"more than {self._most:,} lines cannot be imported")
        if len(self.first) < _SHOWN:
            self.first.append((line, reason))


class Tally:
    """Collects the daily totals of a file, or counts its page views by day.

    `today`: the last valid day. `most_rows`: the maximum number of rows with daily totals, and the maximum number of
    invalid lines. None means no limit.
    """

    def __init__(self, database: Database, today: int, most_rows: int | None = None) -> None:
        self._database = database
        self._today = today
        self._most_rows = most_rows
        self._rows = 0
        self.refused = Refused(most_rows)
        self._views: defaultdict[int, int] = defaultdict(int)
        self._bots: defaultdict[int, int] = defaultdict(int)
        self._visits: set[tuple[int, str]] = set()
        self._characters = 0

    def is_day(self, line: int, day: int) -> bool:
        """Return True if `day` is between 1970-01-01 and today. Otherwise, record the line as invalid."""
        if day < 0:
            self.refused.add(line, f"{day_text(day)} is before 1970")
        elif day > self._today:
            self.refused.add(line, f"{day_text(day)} is in the future")
        else:
            return True
        return False

    def add_day(
        self,
        line: int,
        day: int,
        counts: Counts,
        name: Name | None = None,
        target: str = "",
        *,
        is_estimate: bool = False,
    ) -> None:
        """Add a target's totals for a day. If a day has two different rows, the second row is recorded as invalid.

        Raises NotReadable if there are too many rows.
        """
        self._rows += 1
        if self._most_rows is not None and self._rows > self._most_rows:
            raise NotReadable(f"the file has more than {self._most_rows:,} rows")
        if not self.is_day(line, day):
            return
        key = (name.edge_account_id, name.kind, name.name, target, day) if name else ("", "", "", target, day)
        numbers = (counts.views, counts.bots, counts.visitors)
        if max(numbers) > LARGEST:
            self.refused.add(line, f"{day_text(day)} has a number above {LARGEST}")
            return
        added = self._database.execute(
            "insert into day values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict do nothing",
            (*key, *numbers, line, is_estimate),
        )
        if added.rowcount == 1:
            return
        [*stored, first] = self._database.execute(
            "select views, bots, visitors, line from day"
            " where (edge_account_id, kind, name, target, day) = (?, ?, ?, ?, ?)",
            key,
        ).fetchone()
        if tuple(stored) != numbers:
            self.refused.add(line, f"line {first} has the same day with different numbers")

    def add_view(self, day: int, session: str) -> None:
        """Count a page view, and count its session as a visitor. If the view has no session, no visitor is counted."""
        self._views[day] += 1
        if session:
            self._visits.add((day, session))
            self._characters += len(session)
            if len(self._visits) >= _BATCH or self._characters >= _BATCH_CHARACTERS:
                self._keep_visits()

    def add_views(self, day: int, views: int) -> None:
        """Add this number of views to the day."""
        self._views[day] += views

    def add_bot(self, day: int) -> None:
        """Count a hit by a bot on this day."""
        self._bots[day] += 1

    def count_views(self) -> None:
        """Add the counted views and bot hits as daily totals."""
        self._keep_visits()
        visitors = dict(self._database.execute("select day, count(*) from visit group by day"))
        for day in sorted({*self._views, *self._bots}):
            self.add_day(0, day, Counts(self._views[day], self._bots[day], visitors.get(day, 0)))

    def names(self) -> list[Name | None]:
        """Return the distinct names in the file. The list includes None if there are rows without a name."""
        rows = self._database.execute("select distinct kind, name, edge_account_id from day order by 3, 1, 2")
        return [Name(*row) if row[0] else None for row in rows]

    def targets(self) -> Iterator[tuple[Name | None, dict[str, dict[int, Counts]]]]:
        """Yield each name in the file, and the daily counts of its targets by target id.

        For rows without a name, the name is None.
        """
        rows = self._database.execute(
            "select edge_account_id, kind, name, target, day, views, bots, visitors from day"
            " order by edge_account_id, kind, name, target, day"
        )
        for (edge_account_id, kind, name), group in groupby(rows, key=lambda row: row[:3]):
            days: dict[str, dict[int, Counts]] = {}
            for _, _, _, target, day, *numbers in group:
                days.setdefault(target, {})[day] = Counts(*numbers)
            yield (Name(kind, name, edge_account_id) if kind else None), days

    def estimates(self, name: Name | None) -> frozenset[int]:
        """Return the days on which the totals of targets with this name are estimates."""
        kind, host_or_code, edge_account_id = name or ("", "", "")
        rows = self._database.execute(
            "select distinct day from day where (edge_account_id, kind, name) = (?, ?, ?) and estimated",
            (edge_account_id, kind, host_or_code),
        )
        return frozenset(day for (day,) in rows)

    def _keep_visits(self) -> None:
        self._database.executemany("insert into visit values (?, ?) on conflict do nothing", sorted(self._visits))
        self._visits.clear()
        self._characters = 0


@contextmanager
def tally(today: int, most_rows: int | None = None) -> Iterator[Tally]:
    """Open an empty tally on disk, which is deleted at the end of the block. Raises CannotWrite."""
    tables = (
        "create table day (edge_account_id, kind, name, target, day, views, bots, visitors, line, estimated,"
        " primary key (edge_account_id, kind, name, target, day)) without rowid;"
        "create table visit (day, session, primary key (day, session)) without rowid;"
    )
    with temporary_database(tables) as database:
        yield Tally(database, today, most_rows)
