"""Calls for D1 databases over the REST API. The Worker uses its binding instead of this API.

All functions raise EdgeRefused and EdgeUnavailable. Functions whose calls are never retried also raise EdgeUnknown.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, get_args

from svc.edge.responses import Id, Moment, Shape
from svc.errors import EdgeUnavailable
from svc.model import Jurisdiction

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from svc.edge.access import Access
    from svc.model import Location

_GONE = frozenset({7404})  # the code for which wrangler reports that the database does not exist

_MAX_BYTES = 10**15  # far above real sizes; larger values in responses are ignored

Parameter = str | int | None


@dataclass(frozen=True)
class Database:
    """A D1 database. `created_at` is in epoch ms. `size_bytes` is the current size, or None if unknown."""

    id: str
    name: str
    created_at: int
    size_bytes: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class StatementResult:
    """The result of a statement.

    `rows`: the result rows. `rows_read`, `rows_written`: the numbers of rows that count toward the account's daily
    limits.
    """

    rows: list[Mapping[str, Any]]
    rows_read: int
    rows_written: int


class _Database(Shape):
    uuid: Id
    name: str
    created_at: Moment
    file_size: int | None = None


class _Listed(Shape):
    # Cloudflare's schema marks all fields as optional, so other databases in the account may lack some of them.
    uuid: Id | None = None
    name: str | None = None


class _Meta(Shape):
    rows_read: int = 0
    rows_written: int = 0


class _Result(Shape):
    results: tuple[dict[str, Any], ...] = ()
    meta: _Meta = _Meta()


def _path(access: Access) -> str:
    return f"{access.account_path}/d1/database"


async def find(access: Access, name: str) -> Database | None:
    """Return the database with exactly this name, or None. (The API itself searches for a substring.)"""
    for database in await access.collect(_Listed, _path(access), {"name": name}):
        if database.name == name and database.uuid is not None:
            return await get(access, database.uuid)
    return None


async def get(access: Access, database_id: str) -> Database | None:
    """Return the database with this id, or None if it does not exist."""
    database = await access.find(_Database, f"{_path(access)}/{database_id}", _GONE)
    if database is None:
        return None
    size_bytes = database.file_size
    if size_bytes is not None and not 0 <= size_bytes <= _MAX_BYTES:
        size_bytes = None
    return Database(database.uuid, database.name, database.created_at, size_bytes)


async def create(access: Access, name: str, location: Location | None = None) -> Database:
    """Create a database. By default, Cloudflare chooses a location near the service. The call is never retried.

    Raises EdgeRefused with the code name_taken if a database with this name exists.
    """
    field = "jurisdiction" if location in get_args(Jurisdiction) else "primary_location_hint"
    body = {"name": name, **({field: location} if location else {})}
    made = await access.call(_Database, "POST", _path(access), body=body, repeatable=False)
    return Database(made.uuid, made.name, made.created_at)


async def query(
    access: Access, database_id: str, statements: Sequence[tuple[str, Sequence[Parameter]]]
) -> list[StatementResult]:
    """Run statements as one batch. All statements must be idempotent. Returns one result per statement.

    Cloudflare does not document whether a batch sent to the REST API is one transaction. The API passes parameters to
    SQLite as text, so statements must use CAST where the type matters. In addition to EdgeRefused and EdgeUnavailable,
    the function raises DailyLimit, a subclass of EdgeUnavailable.
    """
    batch = [{"sql": sql, "params": list(parameters)} for sql, parameters in statements]
    results = await access.call(
        list[_Result], "POST", f"{_path(access)}/{database_id}/query", body={"batch": batch}, repeatable=True
    )
    if len(results) != len(statements):
        raise EdgeUnavailable("Cloudflare's response does not have one result per statement.")
    return [
        StatementResult(list(result.results), result.meta.rows_read, result.meta.rows_written) for result in results
    ]


async def delete(access: Access, database_id: str) -> bool:
    """Delete a database and its content. Return False if it did not exist."""
    return await access.delete(f"{_path(access)}/{database_id}", _GONE)
