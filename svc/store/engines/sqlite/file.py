"""Reads and writes a whole store as one SQLite file. This is the format of backups for both engines."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING, Any

from svc.atomic_file import sync
from svc.config import ConfigError
from svc.store.engines.migrate import migrations, pending
from svc.store.engines.sqlite.connection import connect
from svc.store.engines.sqlite.opening import migrate
from svc.store.engines.sqlite.place import LOGS, beside
from svc.store.engines.sqlite.statements import change
from svc.store.engines.sqlite.tables import check_tables, columns_by_table, make_tables, schema_version
from svc.store.sealed_secrets import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from svc.store.tx import Tx

# The maximum number of problems that are shown for a damaged file.
_MAX_PROBLEMS = 3


class NotAStore(Exception):
    """Raised if a file is damaged, or is not a store of this service. The message gives the reason."""


@dataclass(frozen=True)
class Contents:
    """A summary of a store's file: schema version, number of rows by table, and encrypted secrets by owner id."""

    schema: int
    rows: dict[str, int]
    sealed: dict[str, bytes]


def copy(path: Path, target: Path) -> None:
    """Copy a snapshot of the SQLite store at `path` into the new file `target` (mode 0600).

    A service may be running, and the copy and the service do not wait for each other. The copy contains no data from
    deleted rows. Raises ConfigError if there is no store, or if the store cannot be copied.
    """
    try:
        _create(target)
        with contextlib.closing(_opened(path, "rw")) as source:
            source.execute("vacuum into ?", (str(target),))
        sync(target)
    except (OSError, sqlite3.Error) as error:
        raise ConfigError(f"The store {path} cannot be copied: {error}") from error


def copy_unused(path: Path, target: Path) -> None:
    """Copy the file of a SQLite store that no program uses into the new file `target` (mode 0600).

    If a program was killed while it used the store, its last commits are only in SQLite's log next to the file. The
    copy contains these commits. The store itself is only read, so it may be on a read-only disk or damaged. Raises
    OSError if a file cannot be copied, and NotAStore if the log cannot be applied.
    """
    _create(target)
    shutil.copyfile(path, target)
    path = path.resolve()  # SQLite's log is next to the file, not next to a symbolic link to the file
    logs = [log for log in LOGS if beside(path, log).exists()]
    for log in logs:
        shutil.copyfile(beside(path, log), beside(target, log))
    if logs:
        try:
            with contextlib.closing(_opened(target, "rw")) as file:
                file.execute("pragma journal_mode = delete")  # applies the log and deletes it
        except sqlite3.Error as error:
            raise NotAStore(f"its write-ahead log or its journal cannot be applied: {error}") from error
    sync(target)


def contents(path: Path) -> Contents:
    """Verify every page of a store's file, and return a summary of the file.

    Raises NotAStore if the file is damaged or is not a store of this service. Raises ConfigError if a newer program
    created the file.
    """
    try:
        with contextlib.closing(_opened(path, "ro")) as file:
            known = migrations("sqlite")
            schema = schema_version(file)
            pending(known, schema)
            problems = [row[0] for row in file.execute(f"pragma integrity_check({_MAX_PROBLEMS})")]
            if problems != ["ok"]:
                raise NotAStore(f"its database is damaged: {'; '.join(problems)}")
            orphans = {str(row[0]) for row in file.execute("pragma foreign_key_check")}
            if orphans:
                raise NotAStore(f"rows refer to missing rows in: {', '.join(sorted(orphans))}")
            if not schema:
                raise NotAStore("it is not a store of this service")
            try:
                check_tables(schema, columns_by_table(file))
            except ConfigError as error:
                raise NotAStore(f"it is not a store of this service. {error}") from None
            return Contents(schema, row_counts(file), _sealed(file))
    except sqlite3.Error as error:
        raise NotAStore(f"it is not a database, or it is damaged: {error}") from error


def change_file(path: Path, tx: Tx[object]) -> None:
    """Migrate the file of a store to this program's schema, and run a transaction in the file.

    Raises ConfigError if the file cannot be changed, if its schema is newer than the program's, or if its tables do not
    match its schema version.
    """
    try:
        with contextlib.closing(connect(path)) as file:
            migrate(file, path, migrations("sqlite"))
            change(file, tx)
    except sqlite3.Error as error:
        raise ConfigError(f"The store {path} cannot be changed: {error}") from error


@contextlib.contextmanager
def new_file(path: Path, schema: int) -> Iterator[sqlite3.Connection]:
    """Return a context manager that yields a connection to a new file with the tables of this schema version.

    The caller inserts the rows. When the block ends, the file is flushed to disk.
    """
    _create(path)
    with contextlib.closing(_opened(path, "rw")) as file:
        file.execute("pragma journal_mode = off")  # no journal is needed, because an incomplete file is discarded
        file.execute("pragma synchronous = off")
        file.execute("begin")
        make_tables(file, schema)
        yield file
        file.execute("commit")
    sync(path)


@contextlib.contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Return a context manager that opens a store's file for reading."""
    with contextlib.closing(_opened(path, "ro")) as file:
        yield file


def row_counts(file: sqlite3.Connection) -> dict[str, int]:
    """Return the number of rows of each table."""
    return {
        table: int(file.execute(f'select count(*) from "{table}"').fetchone()[0])  # noqa: S608  # a name of the schema
        for table in tables(file)
    }


def tables(file: sqlite3.Connection) -> list[str]:
    """Return the names of a store's tables. Each table comes after the tables that it references."""
    refers = {
        name: {str(row[2]) for row in file.execute(f'pragma foreign_key_list("{name}")')}
        for name in sorted(columns_by_table(file))
    }
    return list(TopologicalSorter(refers).static_order())


def columns(file: sqlite3.Connection, table: str) -> list[str]:
    """Return the columns of a table."""
    return [str(row[1]) for row in file.execute(f'pragma table_info("{table}")')]


def insert(file: sqlite3.Connection, table: str, names: list[str], rows: list[tuple[Any, ...]]) -> None:
    """Insert rows into a table."""
    quoted = ", ".join(f'"{name}"' for name in names)
    file.executemany(f'insert into "{table}" ({quoted}) values ({", ".join("?" * len(names))})', rows)  # noqa: S608  # names of the schema


def counters(file: sqlite3.Connection) -> dict[str, int]:
    """Return the last assigned id of each table that has an autoincrement column."""
    rows = file.execute(
        "select name, coalesce((select seq from sqlite_sequence s where s.name = t.name), 0) from sqlite_master t"
        " where type = 'table' and sql like '%autoincrement%'"
    )
    return {str(name): int(last) for name, last in rows}


def set_counter(file: sqlite3.Connection, table: str, last: int) -> None:
    """Set the last assigned id of a table, so that the next row gets a higher id."""
    file.execute("delete from sqlite_sequence where name = ?", (table,))
    file.execute("insert into sqlite_sequence (name, seq) values (?, ?)", (table, last))


def _sealed(file: sqlite3.Connection) -> dict[str, bytes]:
    """Return the encrypted secrets by owner id. An old schema may lack some of the tables that contain secrets."""
    existing = columns_by_table(file)
    return {
        owner_id: box
        for table, column in COLUMNS.items()
        if table in existing
        for owner_id, box in file.execute(f"select id, {column} from {table} where {column} is not null")  # noqa: S608  # names of the schema
    }


def _create(path: Path) -> None:
    # Only the owner may read the file, because it will contain password hashes and encrypted tokens.
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def _opened(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode={mode}", uri=True, isolation_level=None)
