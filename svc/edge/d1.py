"""D1 databases over REST: for set-up, configuration and report reads; the worker's own traffic uses its binding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from svc.edge.answers import Id, Moment, Shape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from svc.edge.client import Access

Parameter = str | int | None


@dataclass(frozen=True)
class Database:
    """A database of the account."""

    id: str
    name: str
    created_at: int


@dataclass(frozen=True)
class StatementResult:
    """What one statement answered, and what it cost of the account's daily rows."""

    rows: list[Mapping[str, Any]]
    rows_read: int
    rows_written: int
    size_after: int


class _Database(Shape):
    uuid: Id
    name: str
    created_at: Moment


class _Meta(Shape):
    rows_read: int = 0
    rows_written: int = 0
    size_after: int = 0


class _Result(Shape):
    results: tuple[dict[str, Any], ...] = ()
    meta: _Meta = _Meta()


def _path(at: Access) -> str:
    return f"{at.account_path}/d1/database"


async def find(at: Access, name: str) -> Database | None:
    """The database of exactly that name (the platform's `name` is a search)."""
    for found in await at.collect(_Database, _path(at), {"name": name}):
        if found.name == name:
            return Database(found.uuid, found.name, found.created_at)
    return None


async def get(at: Access, database_id: str) -> Database | None:
    """One database."""
    found = await at.find(_Database, f"{_path(at)}/{database_id}")
    return None if found is None else Database(found.uuid, found.name, found.created_at)


async def create(at: Access, name: str) -> Database:
    """Make a database. Never repeated; raises EdgeRefused name_taken, EdgeUnknown."""
    made = await at.call(_Database, "POST", _path(at), body={"name": name}, repeatable=False)
    return Database(made.uuid, made.name, made.created_at)


async def query(
    at: Access, database_id: str, statements: Sequence[tuple[str, Sequence[Parameter]]]
) -> list[StatementResult]:
    """Run statements as one batch, which is one transaction. Each must do no harm when it is run twice.

    Parameters arrive as text: CAST in the statement where the type matters. Raises EdgeError; DailyLimit.
    """
    batch = [{"sql": sql, "params": list(parameters)} for sql, parameters in statements]
    found = await at.call(
        list[_Result], "POST", f"{_path(at)}/{database_id}/query", body={"batch": batch}, repeatable=True
    )
    return [
        StatementResult(list(one.results), one.meta.rows_read, one.meta.rows_written, one.meta.size_after)
        for one in found
    ]


async def delete(at: Access, database_id: str) -> bool:
    """Delete a database and all that is in it. False: it was gone."""
    return await at.delete(f"{_path(at)}/{database_id}")
