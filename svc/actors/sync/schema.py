"""Migrates the tables in a Worker's database to the schema in the service's Worker bundle.

    schema number read ──► higher than the bundle's: refused, nothing changed
        │
        └──► one call per migration, which ends by storing the new number ──► up to date

Each statement can be repeated safely, and a column is not added if it already exists. This is necessary because
responses can be lost. In addition, a batch is not necessarily one transaction: Cloudflare documents a transaction only
for a Worker's binding, not for the REST API.
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

# An SQL statement that lists the tables of a database.
TABLES = "select name from sqlite_schema where type = 'table'"
_NUMBER = "select value from meta where key = 'schema'"
_MAKES_TABLE = re.compile(r"create table if not exists (\w+)")
_ADDS_COLUMN = re.compile(r"alter table (\w+) add column (\w+)")


async def migrate(access: Access, database_id: str, bundle: WorkerBundle) -> None:
    """Apply the migrations in the bundle that the database lacks.

    Raises EdgeRefused if Cloudflare refuses a call, or EdgeUnavailable if a call fails temporarily. If the database has
    the schema of a newer bundle, raises Conflict with the code schema_newer.
    """
    number = await _read_number(access, database_id, bundle)
    if number > bundle.schema:
        raise Conflict("schema_newer", details={"schema": number, "known": bundle.schema})
    for after, migration in enumerate(bundle.migrations[number:], number + 1):
        try:
            await _apply(access, database_id, migration)
        except EdgeRefused:
            # Cloudflare also refuses a migration that an earlier call, whose response was lost, has already applied.
            if await _read_number(access, database_id, bundle) < after:
                raise


def tables(bundle: WorkerBundle, number: int) -> set[str]:
    """Return the names of the tables in the schema with this number."""
    return {name for migration in bundle.migrations[:number] for name in _MAKES_TABLE.findall("\n".join(migration))}


async def _read_number(access: Access, database_id: str, bundle: WorkerBundle) -> int:
    """Return the database's schema number.

    Return 0 if the database is new, or if any table of its schema is missing.
    """
    [result] = await d1.query(access, database_id, [(TABLES, [])])
    existing = {str(row["name"]) for row in result.rows}
    if "meta" not in existing:
        return 0
    [result] = await d1.query(access, database_id, [(_NUMBER, [])])
    try:
        number = max((0, *(int(str(row["value"])) for row in result.rows)))
    except ValueError as error:
        raise EdgeRefused("resource_drift", UNREADABLE) from error
    return number if tables(bundle, number) <= existing else 0


async def _apply(access: Access, database_id: str, migration: Sequence[str]) -> None:
    added = {statement: match for statement in migration if (match := _ADDS_COLUMN.match(statement))}
    columns: dict[str, set[str]] = {}
    for table in dict.fromkeys(match[1] for match in added.values()):
        [result] = await d1.query(access, database_id, [(f"pragma table_info({table})", [])])
        columns[table] = {str(row["name"]) for row in result.rows}
    needed: list[tuple[str, list[d1.Parameter]]] = [
        (statement, [])
        for statement in migration
        if statement not in added or added[statement][2] not in columns[added[statement][1]]
    ]
    await d1.query(access, database_id, needed)
