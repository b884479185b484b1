"""Runs the statements of a transaction on a SQLite connection."""

from __future__ import annotations

import contextlib
import functools
import json
import re
import sqlite3
from typing import TYPE_CHECKING, Any, TypeVar

from svc.store.events import statements_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from svc.store.tx import Parameter, Row, Statement, Tx

T = TypeVar("T")
# The names of parameters: SQLite treats "$1" as a parameter with the name "1". Parameters are bound by name, because
# SQLite would bind the values of a tuple in the order in which the parameters appear in the text.
_NAMES = tuple(str(number) for number in range(1, 1_101))  # enough for most statements
# The possible numbers of rows in a multi-row insert. 64 rows of seven columns are far below SQLite's limit of 32,766
# parameters.
_ROWS_AT_ONCE = (64, 8)


def drive(connection: sqlite3.Connection, tx: Tx[Any], changes: set[str]) -> Any:
    """Run the statements of a transaction and return its result. Adds the ids of changed accounts to `changes`."""
    with contextlib.closing(statements_of(tx, changes)) as statements:
        try:
            statement = next(statements)
            while True:
                statement = statements.send(_execute(connection, statement))
        except StopIteration as done:
            return done.value


def change(connection: sqlite3.Connection, tx: Tx[T]) -> T:
    """Run a transaction on `connection` and return its result. Listeners are not notified."""
    with exclusive_transaction(connection):
        value: T = drive(connection, tx, set())
    return value


@contextlib.contextmanager
def exclusive_transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Return a context manager that runs its block in a transaction, and rolls back after an error."""
    connection.execute("begin immediate")
    with contextlib.ExitStack() as on_exit:
        on_exit.callback(roll_back, connection)
        yield
        connection.execute("commit")


def roll_back(connection: sqlite3.Connection) -> None:
    """Roll back the open transaction, if any."""
    if connection.in_transaction:
        connection.execute("rollback")


def _execute(connection: sqlite3.Connection, statement: Statement) -> list[Row]:
    try:
        text, bind = _binding(statement.text)
        if not statement.responses:
            _execute_many(connection, text, list(map(bind, statement.runs)))
            return []
        cursor = connection.execute(text, bind(statement.runs[0]))
    except sqlite3.Error as error:
        error.add_note(f"in: {statement.text}")
        raise
    if cursor.description is None:
        return []
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _execute_many(connection: sqlite3.Connection, text: str, runs: list[Any]) -> None:
    """Run a statement for each of `runs`. Inserts are combined into multi-row statements.

    Each statement releases the GIL (Python's global lock) and acquires it again, which takes up to 5 ms while the Trio
    thread is busy. With one statement per row, a transaction would mostly wait for the GIL.
    """
    first = 0
    for rows in _ROWS_AT_ONCE:
        larger = _with_rows(text, rows)
        while larger is not None and len(runs) - first >= rows:
            connection.execute(larger, [value for run in runs[first : first + rows] for value in run])
            first += rows
    if first < len(runs):
        connection.executemany(text, runs[first:])


# Matches inserts that have no parameters after their values.
_VALUES = re.compile(r"(insert into [^?]* values )(\(\?(?:, \?)*\))([^?]*)")


@functools.lru_cache(maxsize=200)
def _with_rows(text: str, rows: int) -> str | None:
    """Rewrite `insert … values (?, ?) …` for `rows` rows. Return None if the text has another form."""
    match = _VALUES.fullmatch(text)
    return match and f"{match[1]}{', '.join([match[2]] * rows)}{match[3]}"


_LIST = re.compile(r"= any\((\$\d+)\)")


@functools.lru_cache(maxsize=1_000)
def _binding(text: str) -> tuple[str, Callable[[tuple[Parameter, ...]], Any]]:
    """Return the statement's text for SQLite, and a function that converts its parameters for SQLite.

    If each parameter occurs once and in order, the text uses `?`, because binding a tuple takes a third of the time of
    binding names. A list is passed as JSON, because SQLite has no array parameters.
    """
    numbers = [int(number) for number in re.findall(r"\$(\d+)", text)]
    in_order = numbers == list(range(1, len(numbers) + 1))
    plain, lists = _LIST.subn(r"in (select value from json_each(\1))", text)
    if in_order:
        plain = re.sub(r"\$\d+", "?", plain)
    bind: Callable[[tuple[Parameter, ...]], Any] = tuple if in_order else _by_name
    return plain, (lambda parameters: bind(_with_json_lists(parameters))) if lists else bind


def _with_json_lists(parameters: tuple[Parameter, ...]) -> tuple[Parameter, ...]:
    return tuple(json.dumps(value) if isinstance(value, tuple) else value for value in parameters)


def _by_name(parameters: tuple[Parameter, ...]) -> dict[str, Parameter]:
    if len(parameters) <= len(_NAMES):
        return dict(zip(_NAMES, parameters, strict=False))
    return {str(number): value for number, value in enumerate(parameters, 1)}
