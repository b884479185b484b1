"""A store as one whole SQLite file: the form in which backups keep it, of whichever engine it is."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING, Any

from svc.atomic_file import sync
from svc.config import ConfigError
from svc.store.engines.migrate import migrations, pending
from svc.store.engines.sqlite import change, connect, migrate
from svc.store.engines.sqlite_tables import check_tables, columns_by_table, make_tables, schema_version

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from svc.store.tx import Tx

# Of what is wrong with a damaged file, enough to show.
_MOST_TROUBLES = 3


class NotAStore(Exception):
    """The file is no store of this service, or a damaged one; the message says why."""


@dataclass(frozen=True)
class Contents:
    """What a file holds: the number of its schema, rows by table, sealed tokens by account."""

    schema: int
    rows: dict[str, int]
    sealed: dict[str, bytes]


def copy(path: Path, target: Path) -> None:
    """Copy the SQLite store at `path`, as it is at one moment, into the new file `target` (mode 0600).

    Beside a service that writes: it waits for nobody and holds nobody up. What was deleted is not in the copy.
    Raises ConfigError: there is no store, or it cannot be copied.
    """
    try:
        _make(target)
        with contextlib.closing(_opened(path, "rw")) as source:
            source.execute("vacuum into ?", (str(target),))
        sync(target)
    except (OSError, sqlite3.Error) as error:
        raise ConfigError(f"The store {path} cannot be copied: {error}") from error


def contents(path: Path) -> Contents:
    """What a whole store's file holds, every page of it looked at.

    Raises NotAStore; ConfigError: it is of a newer program.
    """
    try:
        with contextlib.closing(_opened(path, "ro")) as file:
            known = migrations("sqlite")
            schema = schema_version(file)
            pending(known, schema)
            troubles = [row[0] for row in file.execute(f"pragma integrity_check({_MOST_TROUBLES})")]
            if troubles != ["ok"]:
                raise NotAStore(f"its database is damaged: {'; '.join(troubles)}")
            orphans = {str(row[0]) for row in file.execute("pragma foreign_key_check")}
            if orphans:
                raise NotAStore(f"rows refer to others that are not there, in: {', '.join(sorted(orphans))}")
            if not schema:
                raise NotAStore("it is no store of this service")
            try:
                check_tables(schema, columns_by_table(file))
            except ConfigError as error:
                raise NotAStore(f"it is no store of this service. {error}") from None
            sealed = dict(file.execute("select id, sealed_token from accounts where sealed_token is not null"))
            return Contents(schema, row_counts(file), sealed)
    except sqlite3.Error as error:
        raise NotAStore(f"it is no database, or a damaged one: {error}") from error


def change_file(path: Path, tx: Tx[object]) -> None:
    """Bring a whole store's file to this program's schema, and run a transaction in it. Raises ConfigError."""
    try:
        with contextlib.closing(connect(path)) as file:
            migrate(file, path, migrations("sqlite"))
            change(file, tx)
    except sqlite3.Error as error:
        raise ConfigError(f"The store {path} cannot be changed: {error}") from error


@contextlib.contextmanager
def new_file(path: Path, schema: int) -> Iterator[sqlite3.Connection]:
    """A new file with empty tables of this schema, to be filled; on disk when the block ends."""
    _make(path)
    with contextlib.closing(_opened(path, "rw")) as file:
        file.execute("pragma journal_mode = off")  # it is whole or thrown away
        file.execute("pragma synchronous = off")
        file.execute("begin")
        make_tables(file, schema)
        yield file
        file.execute("commit")
    sync(path)


@contextlib.contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """A whole store's file, to be read."""
    with contextlib.closing(_opened(path, "ro")) as file:
        yield file


def row_counts(file: sqlite3.Connection) -> dict[str, int]:
    """How many rows each table has."""
    return {
        table: int(file.execute(f'select count(*) from "{table}"').fetchone()[0])  # noqa: S608  # a name of the schema
        for table in tables(file)
    }


def tables(file: sqlite3.Connection) -> list[str]:
    """The tables of a store, each behind those that it refers to."""
    refers = {
        name: {str(row[2]) for row in file.execute(f'pragma foreign_key_list("{name}")')}
        for name in sorted(columns_by_table(file))
    }
    return list(TopologicalSorter(refers).static_order())


def columns(file: sqlite3.Connection, table: str) -> list[str]:
    """The columns of a table."""
    return [str(row[1]) for row in file.execute(f'pragma table_info("{table}")')]


def insert(file: sqlite3.Connection, table: str, names: list[str], rows: list[tuple[Any, ...]]) -> None:
    """Add rows to a table."""
    quoted = ", ".join(f'"{name}"' for name in names)
    file.executemany(f'insert into "{table}" ({quoted}) values ({", ".join("?" * len(names))})', rows)  # noqa: S608  # names of the schema


def counters(file: sqlite3.Connection) -> dict[str, int]:
    """The last number that was given, by table whose rows are numbered."""
    found = file.execute(
        "select name, coalesce((select seq from sqlite_sequence s where s.name = t.name), 0) from sqlite_master t"
        " where type = 'table' and sql like '%autoincrement%'"
    )
    return {str(name): int(last) for name, last in found}


def set_counter(file: sqlite3.Connection, table: str, last: int) -> None:
    """No number up to `last` is given again."""
    file.execute("delete from sqlite_sequence where name = ?", (table,))
    file.execute("insert into sqlite_sequence (name, seq) values (?, ?)", (table, last))


def _make(path: Path) -> None:
    # It holds password hashes and sealed tokens.
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def _opened(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode={mode}", uri=True, isolation_level=None)
