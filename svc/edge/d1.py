"""D1 databases over REST: for set-up, configuration and report reads; the worker's own traffic uses its binding.

Every function raises EdgeRefused, EdgeUnavailable; those that are never repeated also EdgeUnknown.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, get_args

from svc.edge.answers import Id, Moment, Shape
from svc.model import Jurisdiction

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from svc.edge.access import Access
    from svc.model import Location

_GONE = frozenset({7404})  # wrangler: the database could not be found

_MOST_BYTES = 10**15  # no database comes near it: what is beyond is no size

Parameter = str | int | None


@dataclass(frozen=True)
class Database:
    """A database of the account; `created_at` is epoch ms. `size_bytes`: now; None: the platform does not tell it."""

    id: str
    name: str
    created_at: int
    size_bytes: int | None = field(default=None, compare=False)  # the same database, however large


@dataclass(frozen=True)
class StatementResult:
    """What one statement answered, what it cost of the account's daily rows, and how large the database is after it."""

    rows: list[Mapping[str, Any]]
    rows_read: int
    rows_written: int
    size_after_bytes: int


class _Database(Shape):
    uuid: Id
    name: str
    created_at: Moment
    file_size: int | None = None


class _Listed(Shape):
    # The account's other databases: in the platform's own schema each field may miss.
    uuid: Id | None = None
    name: str | None = None


class _Meta(Shape):
    rows_read: int = 0
    rows_written: int = 0
    size_after: int = 0


class _Result(Shape):
    results: tuple[dict[str, Any], ...] = ()
    meta: _Meta = _Meta()


def _path(access: Access) -> str:
    return f"{access.account_path}/d1/database"


async def find(access: Access, name: str) -> Database | None:
    """The database of exactly that name (the platform's `name` is a search)."""
    for found in await access.collect(_Listed, _path(access), {"name": name}):
        if found.name == name and found.uuid is not None:
            return await get(access, found.uuid)
    return None


async def get(access: Access, database_id: str) -> Database | None:
    """The database of that id; None: it is gone."""
    found = await access.find(_Database, f"{_path(access)}/{database_id}", _GONE)
    if found is None:
        return None
    size_bytes = found.file_size if found.file_size is not None and 0 <= found.file_size <= _MOST_BYTES else None
    return Database(found.uuid, found.name, found.created_at, size_bytes)


async def create(access: Access, name: str, location: Location | None = None) -> Database:
    """Make a database; without `location` near whoever asks, which is the service. Never repeated.

    Raises EdgeRefused name_taken where there is one of that name.
    """
    field = "jurisdiction" if location in get_args(Jurisdiction) else "primary_location_hint"
    body = {"name": name, **({field: location} if location else {})}
    made = await access.call(_Database, "POST", _path(access), body=body, repeatable=False)
    return Database(made.uuid, made.name, made.created_at)


async def query(
    access: Access, database_id: str, statements: Sequence[tuple[str, Sequence[Parameter]]]
) -> list[StatementResult]:
    """Run statements as one batch, which is one transaction. Each must do no harm when it is run twice.

    Parameters arrive as text: CAST in the statement where the type matters. Also raises DailyLimit, an EdgeUnavailable.
    """
    batch = [{"sql": sql, "params": list(parameters)} for sql, parameters in statements]
    found = await access.call(
        list[_Result], "POST", f"{_path(access)}/{database_id}/query", body={"batch": batch}, repeatable=True
    )
    return [
        StatementResult(list(one.results), one.meta.rows_read, one.meta.rows_written, one.meta.size_after)
        for one in found
    ]


async def delete(access: Access, database_id: str) -> bool:
    """Delete a database and all that is in it. False: it was gone."""
    return await access.delete(f"{_path(access)}/{database_id}", _GONE)
