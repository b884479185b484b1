"""Runs the statements of a transaction on a connection, and makes the connection usable again after a failure."""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING, Any, TypeVar

import asyncpg

from svc.store.engines.postgres.session import DRIVER_ERRORS, terminate
from svc.store.events import statements_of

if TYPE_CHECKING:
    from svc.store.tx import Row, Statement, Tx

T = TypeVar("T")


async def drive(connection: Any, tx: Tx[T], changes: set[str]) -> T:
    """Run the statements of a transaction and return its result. Adds the ids of changed accounts to `changes`."""
    with contextlib.closing(statements_of(tx, changes)) as statements:
        try:
            statement = next(statements)
            while True:
                statement = statements.send(await _execute(connection, statement))
        except StopIteration as done:
            value: T = done.value
            return value


async def end_transaction(connection: Any) -> None:
    """Make a connection usable again after a transaction failed or was cancelled.

    If BEGIN is cancelled, the transaction stays open. asyncpg would nest the next transaction in it, so the next
    transaction would never be committed. If ROLLBACK is cancelled, asyncpg wrongly considers the transaction ended.
    """
    if connection.is_closed():
        return
    try:
        if connection.is_in_transaction():
            await connection.execute("rollback")
        await connection.reset()
    except DRIVER_ERRORS:  # the connection is broken, so the caller gets the transaction's own error
        connection.terminate()
    except BaseException:
        connection.terminate()
        raise


async def end_statement(connection: Any) -> None:
    """End an interrupted statement.

    asyncpg sends a statement in two parts. The server stays in the statement's implicit transaction if the statement is
    cancelled between the two parts, or if a parameter cannot be encoded. asyncpg does not detect this, and the next
    transaction on the connection would fail.
    """
    with contextlib.suppress(*DRIVER_ERRORS):  # the pool drops a broken connection
        await connection.execute("select 1")


async def _execute(connection: Any, statement: Statement) -> list[Row]:
    try:
        if not statement.responses:
            if statement.runs:
                await _execute_many(connection, statement)
            return []
        return [dict(row) for row in await connection.fetch(statement.text, *statement.runs[0])]
    except asyncpg.PostgresError as error:
        error.add_note(f"in: {statement.text}")
        raise
    except TimeoutError:
        terminate(connection)
        raise


async def _execute_many(connection: Any, statement: Statement) -> None:
    """Run a statement once for each tuple of parameters.

    The rows of an insert are sent as one statement with an array per column. This halves the server's CPU time.
    """
    types = tuple(_ARRAYS.get(type(value)) for value in statement.runs[0])
    text = _with_arrays(statement.text, types)
    if text is None:
        await connection.executemany(statement.text, statement.runs)
    else:
        await connection.execute(text, *(list(column) for column in zip(*statement.runs, strict=True)))


_ARRAYS: dict[type, str] = {str: "text[]", int: "bigint[]"}


@functools.lru_cache(maxsize=100)
def _with_arrays(text: str, types: tuple[str | None, ...]) -> str | None:
    """Rewrite an insert statement so that its values come from one array per column (`unnest`).

    Return None if the text is not such a statement.
    """
    values = "values (" + ", ".join(f"${number}" for number in range(1, len(types) + 1)) + ")"
    before, found, after = text.partition(values)
    if not found or not before.startswith("insert into ") or "$" in after or None in types:
        return None
    arrays = ", ".join(f"${number}::{name}" for number, name in enumerate(types, 1))
    return f"{before}select * from unnest({arrays}){after}"  # noqa: S608  # SQL of this package and placeholders
