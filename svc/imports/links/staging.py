"""Stores the rows of an import in a temporary database on disk.

The whole file is read before the first link is created, so that no links are created from a damaged file. The rows are
kept on disk, because a file may have a million of them.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from svc.imports.temporary import Database, temporary_database

if TYPE_CHECKING:
    from collections.abc import Iterator

_CODE_SHOWN = 100


class Staged(NamedTuple):
    """A row with a valid link.

    `fields`: a JSON object with the rules and options that are not empty, as in a request body. `columns`: the names of
    the fields for which the file has a column, with a space between them. `tags`: the tags with a space between them.
    """

    line: int
    code: str
    url: str
    fields: str = "{}"
    columns: str = ""
    title: str | None = None
    note: str | None = None
    tags: str = ""


class Staging:
    """Stores the rows to import, one per code, and the rejected rows with their reasons."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, row: Staged) -> Staged | None:
        """Store a row and return None.

        If a row with the same code is already stored, return that row and store nothing.
        """
        values = ", ".join("?" * len(row))
        added = self._database.execute(f"insert into staged values ({values}) on conflict (code) do nothing", row)  # noqa: S608  # placeholders only
        if added.rowcount == 1:
            return None
        return Staged(*self._database.execute("select * from staged where code = ?", (row.code,)).fetchone())

    def batches(self, size: int) -> Iterator[list[Staged]]:
        """Iterate over the stored rows in the order of their lines, up to `size` rows at a time."""
        last = 0
        while rows := self._database.execute(
            "select * from staged where line > ? order by line limit ?", (last, size)
        ).fetchall():
            batch = [Staged(*row) for row in rows]
            last = batch[-1].line
            yield batch

    def count_from(self, line: int) -> int:
        """Return the number of stored rows that start on this line or later."""
        [count] = self._database.execute("select count(*) from staged where line >= ?", (line,)).fetchone()
        return int(count)

    def refuse(self, line: int, code: str, reason: str) -> None:
        """Record a row that is not imported, and the reason."""
        self._database.execute("insert into refused values (?, ?, ?)", (line, code[:_CODE_SHOWN], reason))

    def refused(self) -> Iterator[tuple[int, str, str]]:
        """Iterate over the rejected rows in the order of their lines. Yield line, code and reason."""
        yield from self._database.execute("select line, code, reason from refused order by line")


@contextmanager
def staging() -> Iterator[Staging]:
    """Open an empty staging database, which is deleted at the end of the block. Raises CannotWrite."""
    tables = (
        "create table staged (line integer primary key, code text not null unique, url text not null,"
        " fields text not null, columns text not null, title text, note text, tags text not null);"
        "create table refused (line integer primary key, code text not null, reason text not null);"
    )
    with temporary_database(tables) as database:
        yield Staging(database)
