"""Copies and replaces a whole PostgreSQL store. These functions block, so call them from commands, outside Trio."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

from svc.config import ConfigError
from svc.store.engines.migrate import migrations
from svc.store.engines.postgres import copy as postgres_copy
from svc.store.engines.postgres.locks import lock_alone, lock_migrations
from svc.store.engines.postgres.opening import migrate, refused
from svc.store.engines.postgres.session import DRIVER_ERRORS, connect_alone
from svc.store.engines.sqlite import file as sqlite_file
from svc.store.engines.sqlite import tables as sqlite_tables

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

T = TypeVar("T")


def copy(url: str, target: Path) -> None:
    """Copy a snapshot of the store into the new SQLite file `target`. Raises ConfigError if it cannot be copied."""
    _connected(url, lambda connection: postgres_copy.copy_to_file(connection, target))


def copy_alone(url: str, target: Path) -> None:
    """Copy the store like `copy`, but raise ConfigError if a service is running."""

    async def work(connection: Any) -> None:
        other = await connect_alone(url)
        try:
            async with other.transaction():
                await lock_alone(other)
                await postgres_copy.copy_to_file(connection, target)
        finally:
            await other.close()

    _connected(url, work)


def store_exists(url: str) -> bool:
    """Return True if there is a store, even an empty one. If the server cannot be reached, raises ConfigError."""

    async def work(connection: Any) -> bool:
        return await postgres_copy.schema_version(connection) > 0

    return _connected(url, work)


def put(url: str, source: Path, stamp: str, *, replace: bool) -> str | None:
    """Replace the store at `url` with the store in the file `source`, in one transaction.

    The tables of the old store are moved to a schema whose name contains `stamp`. Returns the name of this schema, or
    None if there was no store. Raises ConfigError if a service is running, if there is a store and `replace` is False,
    or if the server refuses the change.
    """

    async def work(connection: Any) -> str | None:
        async with connection.transaction():
            await lock_migrations(connection)
            await lock_alone(connection)
            version = await postgres_copy.schema_version(connection)
            if version and not replace:
                raise ConfigError("This PostgreSQL database already contains a store.")
            epoch = await connection.fetchval("select epoch from serving") if version else 0
            aside = await _move_aside(connection, version, stamp) if version else None
            with sqlite_file.opened(source) as file:
                schema, tables = sqlite_tables.schema_version(file), sqlite_file.tables(file)
                expected = sqlite_file.row_counts(file)
            await migrate(connection, [step for step in migrations("postgres") if step.number <= schema])
            await postgres_copy.fill(connection, source)
            # A service that was using the old store may reconnect later. The higher epoch prevents it from using the
            # new store.
            await connection.execute(
                "update serving set epoch = 1 + case when epoch > $1 then epoch else $1 end", int(epoch)
            )
            if await postgres_copy.counts(connection, tables) != expected:
                raise ConfigError("Not all rows were copied. Nothing was changed.")
            return aside

    return _connected(url, work)


async def _move_aside(connection: Any, version: int, stamp: str) -> str:
    """Move the store's tables into a separate schema, and return the name of this schema.

    If a newer program created the store, all tables of the schema are moved, because this program does not know the
    names of the store's tables.
    """
    known = migrations("postgres")
    names = {"schema_version"} | {
        statement.split()[2] for step in known for statement in step.statements if statement.startswith("create table ")
    }
    rows = await connection.fetch(
        "select relname from pg_class c where relnamespace = current_schema()::regnamespace and relkind = 'r'"
        " and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')"
        " and ($1 or relname::text = any($2)) order by relname",
        version > known[-1].number,
        sorted(names),
    )
    aside = f"{await connection.fetchval('select current_schema()')}_before_restore_{stamp.lower()}"
    await connection.execute(f'create schema "{aside}"')
    for row in rows:
        await connection.execute(f'alter table "{row["relname"]}" set schema "{aside}"')
    return aside


def _connected(url: str, work: Callable[[Any], Awaitable[T]]) -> T:
    async def run() -> T:
        connection = await connect_alone(url)
        try:
            return await work(connection)
        finally:
            await connection.close()

    try:
        return asyncio.run(run())
    except (*DRIVER_ERRORS, ValueError) as error:
        raise refused("used", error) from None
