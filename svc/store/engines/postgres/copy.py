"""Copies all rows of a PostgreSQL store to a SQLite file, the format of backups, and copies them back.

`pg_dump` is not suitable for backups, because it refuses servers that are newer than itself. In addition, its files can
be inspected only with a PostgreSQL server, and restored only to PostgreSQL. The conversion to SQLite is lossless,
because all columns are text, 64-bit integers or bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.config import ConfigError
from svc.store.engines.migrate import migrations, pending
from svc.store.engines.sqlite.file import columns, counters, insert, new_file, opened, row_counts, set_counter, tables

if TYPE_CHECKING:
    from pathlib import Path

    import asyncpg

_ROWS_AT_ONCE = 1_000


async def schema_version(connection: asyncpg.Connection) -> int:
    """Return the store's schema version, or 0 if there is no store."""
    if await connection.fetchval("select to_regclass('schema_version')") is None:
        return 0
    return int(await connection.fetchval("select coalesce(max(number), 0) from schema_version"))


async def copy_to_file(connection: asyncpg.Connection, target: Path) -> None:
    """Copy a snapshot of the store into the new file `target`.

    Raises ConfigError if there is no store, if a newer program created the store, or if the copy is incomplete.
    """
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        schema = await schema_version(connection)
        pending(migrations("postgres"), schema)
        if not schema:
            raise ConfigError("There is no store in this PostgreSQL database.")
        with new_file(target, schema) as file:
            for table in tables(file):
                names = columns(file, table)
                cursor = await connection.cursor(f"select {_quoted(names)} from {table}")  # noqa: S608  # names of the schema
                while rows := await cursor.fetch(_ROWS_AT_ONCE):
                    insert(file, table, names, [tuple(row) for row in rows])
            if await counts(connection, tables(file)) != row_counts(file):
                raise ConfigError("The copy of the PostgreSQL store does not have all rows.")
            for table in counters(file):
                set_counter(file, table, await _counter(connection, table))


async def fill(connection: asyncpg.Connection, source: Path) -> None:
    """Replace all rows in the store with the rows of the file `source`, which must have the same schema."""
    with opened(source) as file:
        ordered = tables(file)
        for table in reversed(ordered):  # the migrations may have inserted rows, so delete them
            await connection.execute(f"delete from {table}")  # noqa: S608  # a name of the schema
        for table in ordered:
            names = columns(file, table)
            rows = file.execute(f'select {_quoted(names)} from "{table}"')  # noqa: S608  # names of the schema
            await connection.copy_records_to_table(table, records=rows, columns=names)
        for table, last in counters(file).items():
            if last:
                await connection.execute("select setval(pg_get_serial_sequence($1, 'id'), $2)", table, last)


async def counts(connection: asyncpg.Connection, names: list[str]) -> dict[str, int]:
    """Return the number of rows by table."""
    return {table: int(await connection.fetchval(f"select count(*) from {table}")) for table in names}  # noqa: S608  # names of the schema


async def _counter(connection: asyncpg.Connection, table: str) -> int:
    sequence = await connection.fetchval("select pg_get_serial_sequence($1, 'id')", table)
    row = await connection.fetchrow(f"select last_value, is_called from {sequence}")  # noqa: S608  # the server's own name
    return int(row["last_value"]) if row["is_called"] else 0


def _quoted(names: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)
