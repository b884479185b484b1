"""A temporary database on disk for the rows of an import, which may not fit in memory."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


Database = sqlite3.Connection


class CannotWrite(Exception):
    """Raised if writing to the temporary database fails, usually because the disk is full."""


@contextmanager
def temporary_database(tables: str) -> Iterator[Database]:
    """Return a context manager that yields a database with these tables (SQL).

    The database is deleted at the end of the block.

    Raises CannotWrite if the folder for temporary files has no space left.
    """
    try:
        with closing(sqlite3.connect("", isolation_level=None)) as database:  # no name: a temporary file
            database.executescript(f"{tables} pragma journal_mode = off; pragma synchronous = off; begin")
            yield database
    except sqlite3.OperationalError as error:
        text = f"cannot write temporary files ({error}); free disk space, or set TMPDIR to another folder"
        raise CannotWrite(text) from error
