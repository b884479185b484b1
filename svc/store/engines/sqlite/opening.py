"""Opens a SQLite store: locks it, migrates its schema and creates its connections."""

from __future__ import annotations

import contextlib
import functools
import os
import sqlite3
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import trio

from svc import atomic_file
from svc.config import ConfigError
from svc.metrics import Metrics
from svc.store.engines.migrate import NotReady, copy_before, migrations, pending, require_current_schema
from svc.store.engines.sqlite.connection import connect
from svc.store.engines.sqlite.place import finish, is_unfinished, lock
from svc.store.engines.sqlite.statements import exclusive_transaction
from svc.store.engines.sqlite.store import SqliteStore
from svc.store.engines.sqlite.tables import check_tables, columns_by_table, run_migrations, schema_version

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from svc.store.engines.migrate import Migration

_READERS = 4
# The size of the writer's page cache. A push writes about as many database pages as it has sites and links. With
# SQLite's defaults (a cache of 2 MB, a checkpoint after 1,000 pages), each push would read most pages again, and every
# tenth push would start a checkpoint. This would take 20% more CPU time.
_WRITER_CACHE_KIB = 32_768
_LOG_PAGES = 8_000


@asynccontextmanager
async def open_sqlite(
    path: Path,
    *,
    serving: bool = False,
    as_is: bool = False,
    metrics: Metrics | None = None,
    known: list[Migration] | None = None,
) -> AsyncIterator[SqliteStore]:
    """Open the store in the file `path`. Create or migrate the store as `store.open_store` describes.

    `known`: the migrations, by default those of this program. Raises Served or NotReady. Raises ConfigError if the file
    is not a database, or if a newer program created it.
    """
    known = known or migrations("sqlite")
    with _locked(path, serving=serving):
        store = await trio.to_thread.run_sync(
            functools.partial(_open, path, metrics or Metrics(), known, serving=serving, as_is=as_is)
        )
        try:
            yield store
        finally:
            # this takes a limited time, because the threads finish only the queued jobs
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(store.close)


@contextlib.contextmanager
def _locked(path: Path, *, serving: bool) -> Iterator[None]:
    """Return a context manager that holds the store's lock if `serving` is True.

    The context manager first finishes an interrupted restore. Raises ConfigError if the lock cannot be acquired or the
    restore cannot be finished.
    """
    with contextlib.ExitStack() as held:
        try:
            if serving or is_unfinished(path):
                held.enter_context(lock(path))
                finish(path)
        except OSError as error:
            raise ConfigError(f"The store {path} cannot be opened: {error}") from error
        if not serving:
            held.close()
        yield


def _open(path: Path, metrics: Metrics, known: list[Migration], *, serving: bool, as_is: bool) -> SqliteStore:
    connections: list[sqlite3.Connection] = []
    if as_is and not path.exists():
        _check_can_be_created(path)
        raise NotReady(
            f"There is no store {path} yet: the first start of the service creates it. If the service uses another"
            " store, pass its configuration with --config"
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Only the owner may read the file, because it contains password hashes and encrypted tokens. SQLite gives its
        # other files the same mode.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        connections.append(connect(path))
        connections[0].execute(f"pragma cache_size = -{_WRITER_CACHE_KIB}")
        connections[0].execute(f"pragma wal_autocheckpoint = {_LOG_PAGES}")
        if as_is or not serving:
            require_current_schema(known, schema_version(connections[0]), may_create=not as_is)
        migrate(connections[0], path, known)
        connections.extend(connect(path, read_only=True) for _ in range(_READERS + 1))
        connections[-1].execute("pragma busy_timeout = 0")  # because the Trio thread must never block
    except (OSError, sqlite3.Error, ConfigError) as error:
        for connection in connections:
            connection.close()
        if isinstance(error, NotReady):
            raise
        raise ConfigError(f"The store {path} cannot be opened: {error}") from error
    writer, *readers, peeker = connections
    return SqliteStore(path, writer, readers, peeker, metrics)


def _check_can_be_created(path: Path) -> None:
    """Raise ConfigError if the store's folder neither exists nor can be created."""
    try:
        atomic_file.check_creatable(path)
    except OSError as error:
        raise ConfigError(f"There is no store {path}, and {error}") from None


def migrate(connection: sqlite3.Connection, path: Path, known: list[Migration]) -> None:
    """Apply the pending migrations. An existing store is first copied to `<path>.schema-<n>.backup`.

    Raises ConfigError if the schema is newer than the program's, or if the tables do not match the schema version.
    """
    version = schema_version(connection)
    if 0 < version <= known[-1].number:
        check_tables(version, columns_by_table(connection))
    if pending(known, version, path):
        with exclusive_transaction(connection):  # needed because two processes may start at the same time
            version = schema_version(connection)
            steps = pending(known, version, path)
            if steps and version:
                _copy(path, copy_before(path, version))
            run_migrations(connection, steps)


def _copy(path: Path, target: Path) -> None:
    """Copy a snapshot of the database. The file `target` appears only when it is complete."""
    partial = target.with_name(f"{target.name}.part")
    partial.unlink(missing_ok=True)
    os.close(os.open(partial, os.O_RDWR | os.O_CREAT, 0o600))
    with contextlib.closing(sqlite3.connect(path)) as source, contextlib.closing(sqlite3.connect(partial)) as copy:
        source.backup(copy)
    partial.replace(target)
