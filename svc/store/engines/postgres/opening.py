"""Opens a PostgreSQL store: locks it, migrates its schema and creates its connections."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import asyncpg
import trio

from svc.config import ConfigError
from svc.metrics import Metrics
from svc.store.engines.migrate import copy_before, migrations, pending, require_current_schema
from svc.store.engines.postgres.copy import copy_to_file, schema_version
from svc.store.engines.postgres.locks import Replaced, hold_serving_lock, lock_alone, lock_migrations
from svc.store.engines.postgres.loop_thread import LoopThread
from svc.store.engines.postgres.pool import Pool
from svc.store.engines.postgres.session import ACQUIRE_S, DRIVER_ERRORS, connect, connect_alone
from svc.store.engines.postgres.store import Pools, PostgresStore
from svc.store.engines.served import Served
from svc.store.engines.sqlite.tables import check_tables

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from svc.store.engines.migrate import Migration

_LOCKED = (
    "Another svc process has locked this PostgreSQL store (a restore, a schema migration or a backup) and does not"
    " finish. Wait for it or end its process, then try again."
)


@asynccontextmanager
async def open_postgres(
    url: str,
    pool_size: int,
    *,
    serving: bool = False,
    as_is: bool = False,
    metrics: Metrics | None = None,
    copies: Path | None = None,
    known: list[Migration] | None = None,
) -> AsyncIterator[PostgresStore]:
    """Open the store in the database at `url`. Create or migrate the store as `store.open_store` describes.

    `copies`: the folder for the copy that is made before a migration, or None for no copy. `known`: the migrations, by
    default those of this program. Raises Served or NotReady. Raises ConfigError if the store cannot be reached or
    copied, or if a newer program created it.
    """
    known = known or migrations("postgres")
    loop_thread = LoopThread()
    try:
        try:
            pools = await loop_thread.cross(lambda _: _open(url, pool_size, serving, as_is, copies, known))
        except Replaced:
            raise Served("Another svc serve took this PostgreSQL store at the same moment.") from None
        except (*DRIVER_ERRORS, ValueError) as error:
            raise refused("opened", error) from None
        try:
            yield PostgresStore(loop_thread, pools, metrics or Metrics())
        finally:
            with trio.CancelScope(shield=True):  # takes at most _CLOSE_S
                await loop_thread.cross(lambda _: pools.close())
    finally:
        with trio.CancelScope(shield=True):  # returns immediately, because the loop is idle
            await trio.to_thread.run_sync(loop_thread.close)


def refused(what: str, error: Exception) -> ConfigError:
    """Return the ConfigError for an error of the driver.

    `what`: completes the message "The PostgreSQL store cannot be …".
    """
    if isinstance(error, asyncpg.LockNotAvailableError):
        return ConfigError(_LOCKED)
    # Do not show the URL, because it may contain a password.
    return ConfigError(f"The PostgreSQL store cannot be {what}: {type(error).__name__}: {error}")


async def _open(
    url: str, pool_size: int, serving: bool, as_is: bool, copies: Path | None, known: list[Migration]
) -> Pools:
    epoch = await _prepare(url, serving, as_is, copies, known)

    async def open_connection(opened: Callable[[asyncpg.Connection], None]) -> asyncpg.Connection:
        connection = await connect(url)
        opened(connection)
        if serving:
            await hold_serving_lock(connection, epoch)
        return connection

    pools = Pools(Pool(open_connection, pool_size), Pool(open_connection, 1))
    pools.requests.release(await pools.requests.acquire(ACQUIRE_S))
    return pools


async def _prepare(url: str, serving: bool, as_is: bool, copies: Path | None, known: list[Migration]) -> int:
    """Migrate the schema and, for a service, increment the store's epoch. Return the epoch.

    This is one transaction, so if two services start at the same time, one waits here for the other.
    """
    connection = await connect_alone(url)
    try:
        async with connection.transaction():
            await lock_migrations(connection)
            if serving:
                await lock_alone(connection)
            if as_is or not serving:
                require_current_schema(known, await schema_version(connection), may_create=not as_is)
            version = await schema_version(connection)
            if 0 < version <= known[-1].number:
                check_tables(version, await _columns_by_table(connection))
            if copies is not None:
                await _copy_before(url, connection, copies, known)
            await migrate(connection, known)
            count = "update serving set epoch = epoch + 1 returning epoch" if serving else "select epoch from serving"
            return int(await connection.fetchval(count))
    finally:
        await connection.close()


async def _columns_by_table(connection: asyncpg.Connection) -> dict[str, set[str]]:
    """Return the column names of the store's tables, by table."""
    columns: dict[str, set[str]] = {}
    for table, column in await connection.fetch(
        "select c.relname, a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid"
        " where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and a.attnum > 0"
        " and not a.attisdropped"
    ):
        columns.setdefault(table, set()).add(column)
    return columns


async def _copy_before(url: str, connection: asyncpg.Connection, folder: Path, known: list[Migration]) -> None:
    """Copy the store into `folder` if it is about to be migrated. If it cannot be copied, raises ConfigError."""
    version = await schema_version(connection)
    names = await connection.fetchrow("select current_database() as database, current_schema() as schema")
    store = folder / f"{names['database']}-{names['schema']}"
    if not pending(known, version, store) or not version:
        return
    target = copy_before(store, version)
    try:
        part = _temporary_file(target)
        other = await connect_alone(url)  # this connection reads a snapshot in its own transaction
        try:
            await copy_to_file(other, part)
        finally:
            await other.close()
        part.replace(target)
    except OSError as error:
        raise ConfigError(
            f"The store cannot be copied to {target} before its schema is migrated: {error.strerror or error}."
            " Set [store] copies to another folder, or to an empty value if you have made a backup yourself."
        ) from None


def _temporary_file(target: Path) -> Path:
    """Return the path of the temporary file for `target`. Create the folder, and delete an earlier temporary file."""
    part = target.with_name(f"{target.name}.part")
    part.parent.mkdir(parents=True, exist_ok=True)
    part.unlink(missing_ok=True)
    return part


async def migrate(connection: asyncpg.Connection, known: list[Migration]) -> None:
    """Apply the pending migrations in the caller's transaction. If the schema is newer, raises ConfigError."""
    await connection.execute("create table if not exists schema_version (number bigint primary key)")
    version = await connection.fetchval("select coalesce(max(number), 0) from schema_version")
    for step in pending(known, version):
        for statement in step.statements:
            await connection.execute(statement)
        await connection.execute("insert into schema_version (number) values ($1)", step.number)
