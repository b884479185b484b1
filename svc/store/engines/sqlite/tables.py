"""Runs migrations in a SQLite database, and checks that its tables match a schema version."""

from __future__ import annotations

import contextlib
import functools
import sqlite3
from typing import TYPE_CHECKING

from svc.config import ConfigError
from svc.store.engines.migrate import migrations

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from svc.store.engines.migrate import Migration


def schema_version(connection: sqlite3.Connection) -> int:
    """Return the database's schema version, or 0 if the database has no schema."""
    return int(connection.execute("pragma user_version").fetchone()[0])


def run_migrations(connection: sqlite3.Connection, steps: Iterable[Migration]) -> None:
    """Run the statements of each migration, and record the migration's number.

    The caller must have opened a transaction.
    """
    for step in steps:
        for statement in step.statements:
            connection.execute(statement)
        connection.execute(f"pragma user_version = {step.number}")


def make_tables(connection: sqlite3.Connection, schema: int) -> None:
    """Create the tables of this schema version in an empty database, without any rows."""
    run_migrations(connection, _steps_to(schema))
    # Delete the rows that migrations insert, because the caller copies these rows from another store.
    for table in columns_by_table(connection):
        connection.execute(f'delete from "{table}"')  # noqa: S608  # a name of the schema


def columns_by_table(connection: sqlite3.Connection) -> dict[str, frozenset[str]]:
    """Return the column names of the database's tables, by table."""
    by_table: dict[str, set[str]] = {}
    for table, column in connection.execute(
        "select t.name, c.name from sqlite_master t, pragma_table_info(t.name) c"
        " where t.type = 'table' and t.name not like 'sqlite_%'"
    ):
        by_table.setdefault(table, set()).add(column)
    return {table: frozenset(columns) for table, columns in by_table.items()}


@functools.cache  # the result is constant, and is needed each time that a store is opened
def columns_of_schema(version: int) -> Mapping[str, frozenset[str]]:
    """Return the column names of the tables in this schema version, by table. Both engines have the same columns."""
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        run_migrations(database, _steps_to(version))
        return columns_by_table(database)


def check_tables(version: int, actual: Mapping[str, Collection[str]]) -> None:
    """Check that the store's tables have the columns of its schema version. Other tables are ignored.

    Raises ConfigError if the columns differ. In that case, an unreleased version of the program created the store.
    """
    different = []
    for table, columns in sorted(columns_of_schema(version).items()):
        missing, surplus = columns - set(actual.get(table, ())), set(actual.get(table, ())) - columns
        if missing or surplus:
            names = [*(f"no {name}" for name in sorted(missing)), *(f"a column {name}" for name in sorted(surplus))]
            different.append(f"{table} has {', '.join(names)}" if table in actual else f"there is no table {table}")
    if different:
        raise ConfigError(
            f"The store has schema {version}, but not its tables ({different[0]}): an unreleased version made it."
            " Restore a backup of a released version, or start with an empty store"
        )


def _steps_to(schema: int) -> list[Migration]:
    return [step for step in migrations("sqlite") if step.number <= schema]
