"""The tables of a worker's database, brought from the schema that they have to the bundle's, never back.

    number read ──► newer than the bundle's: refused, nothing touched
        │
        └──► a migration after the other, each one call that ends with the new number ──► up to date

Whether a batch over the platform's API is one transaction is not documented (that of a worker's binding is), and
answers get lost. So nothing depends on it: statements can be run again, and a column that is there is not added again.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from svc.edge import d1
from svc.errors import Conflict, EdgeRefused
from svc.worker.meta import UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.edge.access import Access
    from svc.worker.bundle import WorkerBundle

# The statement that names the tables of a database.
TABLES = "select name from sqlite_schema where type = 'table'"
_NUMBER = "select value from meta where key = 'schema'"
_MAKES_TABLE = re.compile(r"create table if not exists (\w+)")
_ADDS_COLUMN = re.compile(r"alter table (\w+) add column (\w+)")


async def migrate(access: Access, database_id: str, bundle: WorkerBundle) -> None:
    """Apply what the database lacks of the bundle's migrations.

    Raises EdgeRefused, EdgeUnavailable; Conflict schema_newer: a newer bundle has been here.
    """
    number = await _number(access, database_id, bundle)
    if number > bundle.schema:
        raise Conflict("schema_newer", details={"schema": number, "known": bundle.schema})
    for after, migration in enumerate(bundle.migrations[number:], number + 1):
        try:
            await _apply(access, database_id, migration)
        except EdgeRefused:
            # A try whose answer was lost, and that was carried out meanwhile, makes the next one fail.
            if await _number(access, database_id, bundle) < after:
                raise


def tables(bundle: WorkerBundle, number: int) -> set[str]:
    """The names of the tables of the schema of that number."""
    return {name for migration in bundle.migrations[:number] for name in _MAKES_TABLE.findall("\n".join(migration))}


async def _number(access: Access, database_id: str, bundle: WorkerBundle) -> int:
    """The schema's number; 0 for a database that is new, or that lacks tables which it should have."""
    [found] = await d1.query(access, database_id, [(TABLES, [])])
    there = {str(row["name"]) for row in found.rows}
    if "meta" not in there:
        return 0
    [found] = await d1.query(access, database_id, [(_NUMBER, [])])
    try:
        number = max((0, *(int(str(row["value"])) for row in found.rows)))
    except ValueError as error:
        raise EdgeRefused("resource_drift", UNREADABLE) from error
    return number if tables(bundle, number) <= there else 0


async def _apply(access: Access, database_id: str, migration: Sequence[str]) -> None:
    added = {statement: match for statement in migration if (match := _ADDS_COLUMN.match(statement))}
    columns: dict[str, set[str]] = {}
    for table in dict.fromkeys(match[1] for match in added.values()):
        [found] = await d1.query(access, database_id, [(f"pragma table_info({table})", [])])
        columns[table] = {str(row["name"]) for row in found.rows}
    needed: list[tuple[str, list[d1.Parameter]]] = [
        (statement, [])
        for statement in migration
        if statement not in added or added[statement][2] not in columns[added[statement][1]]
    ]
    await d1.query(access, database_id, needed)
