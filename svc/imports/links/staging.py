"""Store the rows of an import in a temporary database on disk before they are written.

The whole file is read before the first link is created, so that a damaged file creates none. A file may have a million
rows, too many to keep in memory.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_CODE_SHOWN = 100


class Staged(NamedTuple):
    """A row with a valid link. `rules`: as in the file; None if the file has no such column."""

    line: int
    code: str
    url: str
    rules: str | None


class Staging:
    """Rows to import, one per code, and rejected rows with the reason."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def add(self, row: Staged) -> Staged | None:
        """Store a row and return None, or return the stored row with the same code."""
        added = self._database.execute("insert into staged values (?, ?, ?, ?) on conflict (code) do nothing", row)
        if added.rowcount == 1:
            return None
        return Staged(*self._database.execute("select * from staged where code = ?", (row.code,)).fetchone())

    def batches(self, size: int) -> Iterator[list[Staged]]:
        """Iterate over the stored rows in order of lines, up to `size` at a time."""
        last = 0
        while found := self._database.execute(
            "select * from staged where line > ? order by line limit ?", (last, size)
        ).fetchall():
            batch = [Staged(*row) for row in found]
            last = batch[-1].line
            yield batch

    def count_from(self, line: int) -> int:
        """Count the stored rows that start in this line or later."""
        [count] = self._database.execute("select count(*) from staged where line >= ?", (line,)).fetchone()
        return int(count)

    def refuse(self, line: int, code: str, reason: str) -> None:
        """Record why a row is not imported."""
        self._database.execute("insert into refused values (?, ?, ?)", (line, code[:_CODE_SHOWN], reason))

    def refused(self) -> Iterator[tuple[int, str, str]]:
        """Iterate over line, code and reason of the rejected rows, in order of lines."""
        yield from self._database.execute("select line, code, reason from refused order by line")


@contextmanager
def staging() -> Iterator[Staging]:
    """Open an empty staging database in a temporary file, which is deleted at the end."""
    with closing(sqlite3.connect("", isolation_level=None)) as database:
        database.executescript(
            "create table staged (line integer primary key, code text not null unique, url text not null, rules text);"
            "create table refused (line integer primary key, code text not null, reason text not null);"
            "pragma journal_mode = off; pragma synchronous = off; begin"
        )
        yield Staging(database)
