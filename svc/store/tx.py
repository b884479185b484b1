"""Transactions as generators. All code that reads or writes the store consists of such generators.

A transaction is a generator function that *yields* statements and *receives* their rows. An engine runs it, either in a
thread (SQLite) or in a coroutine (PostgreSQL), and commits when the generator returns. The SQL is the same for both
engines:

    def rename(account_id: str, name: str) -> Tx[bool]:
        rows = yield sql("update accounts set name = $2 where id = $1 returning id", account_id, name)
        return bool(rows)

    renamed = await store.run(rename("acc_…", "shop"))

Each call of `run` runs one transaction, with a single switch to the engine's thread. If the transaction fails or is
cancelled, it is rolled back. An exception raised inside a transaction rolls it back and propagates to the caller.
`yield from` combines transactions. A transaction must not wait for anything outside the store.

If a transaction changes data that an account's actor depends on, it also yields `Changed(edge_account_id)`. The
listeners (`store/engines/changes.py`) are notified after the commit, even if the caller was cancelled.

A transaction that changes something for a user also yields an `Event`, which is written to the audit log in the same
transaction (`store/events.py`). If a transaction finds nothing to change, it yields `UNCHANGED`, and its events are
discarded.

SQL must run on both engines. Parameters are written as `$1`, with a cast where the type is ambiguous. A list is a
single parameter: `id = any($1)`. Times (epoch ms) and booleans are stored as integers, and JSON as text. Sums are cast
to bigint, because PostgreSQL would return decimal numbers. The current time is a parameter. On PostgreSQL, a row may
change after it was read. If two transactions may conflict, a single statement must therefore decide the outcome (`on
conflict do nothing returning`, `update … where state = … returning`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from svc.errors import CATALOGUE, ErrorNote
from svc.model import Event
from svc.store.engines.changes import OUTBOX, Changes

if TYPE_CHECKING:
    from svc.store.engines.condition import Condition

T = TypeVar("T")

# The values of a row by column name.
Row = Mapping[str, Any]
# A tuple of strings is one parameter, regardless of its length: `… where id = any($1)`.
Parameter = str | int | bytes | None | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Statement:
    """A SQL statement, and a tuple of parameters ($1, $2, …) for each run. `repr` does not show the parameters."""

    text: str
    runs: Sequence[tuple[Parameter, ...]] = field(repr=False)
    responses: bool = True  # if False, the runs return no rows, and there can be any number of runs


@dataclass(frozen=True, slots=True)
class Changed:
    """Yielded by a transaction to wake the actor of this Cloudflare account after the commit. Receives no rows."""

    edge_account_id: str


class Unchanged:
    """Yielded by a transaction that has changed nothing, so that its events are discarded. Receives no rows."""


UNCHANGED = Unchanged()
# Yielded by a transaction that queues an email.
POSTED = Changed(OUTBOX)

Tx = Generator[Statement | Changed | Event | Unchanged, list[Row], T]


def sql(text: str, *parameters: Parameter) -> Statement:
    """Return a statement that runs once. Raises ValueError if the placeholders in `text` are not exactly $1 to $n."""
    if _parameters_of(text) != len(parameters):
        raise ValueError(f"{len(parameters)} parameters given to: {text}")
    return Statement(text, (parameters,))


def many(text: str, runs: Sequence[tuple[Parameter, ...]]) -> Statement:
    """Return a statement that runs once for each tuple of parameters, in order. It returns no rows.

    Two runs of an upsert (`on conflict do update`) must not have the same key, because the PostgreSQL engine combines
    the runs into one statement. Raises ValueError if a tuple does not match the placeholders in `text`.
    """
    wanted = _parameters_of(text)
    if any(len(parameters) != wanted for parameters in runs):
        raise ValueError(f"not every run has {wanted} parameters: {text}")
    return Statement(text, runs, responses=False)


def constant(value: T) -> Tx[T]:
    """Return a transaction that does nothing and returns `value`. Use it if a request only stores its response."""
    yield from ()
    return value


def placeholders(count: int, first: int = 1) -> str:
    """Return `count` placeholders for an SQL list, such as `$1, $2, $3`.

    If `count` is 0, return `null`, which matches no row.
    """
    return ", ".join(f"${number}" for number in range(first, first + count)) or "null"


def to_json(value: object) -> str | None:
    """Return the value as JSON text; None (null in SQL) for None. Dataclasses become JSON objects."""
    return None if value is None else json.dumps(value, default=vars)


def from_json(text: str | None) -> Any:
    """Return the value of stored JSON text; None for null."""
    return None if text is None else json.loads(text)


def from_json_as(shape: type[T], text: str | None) -> T | None:
    """Return a stored JSON object as the dataclass `shape`; None for null.

    Another version of the service may have written the object, so unknown fields are ignored and missing fields get
    their defaults.
    """
    if text is None:
        return None
    stored = json.loads(text)
    known = {each.name: stored[each.name] for each in fields(shape) if each.name in stored}  # type: ignore[arg-type]
    return shape(**known)


def note_from_json(text: str | None) -> ErrorNote | None:
    """Return a stored error; None for null. An unknown code, which a newer version has stored, becomes `internal`."""
    note = from_json_as(ErrorNote, text)
    return note if note is None or note.code in CATALOGUE else replace(note, code="internal")


@lru_cache(maxsize=1_000)
def _parameters_of(text: str) -> int:
    numbers = {int(number) for number in re.findall(r"\$(\d+)", text)}
    if numbers != set(range(1, len(numbers) + 1)):
        raise ValueError(f"parameters are not numbered from $1 without a gap: {text}")
    return len(numbers)


class Store(Protocol):
    """The interface of both engines."""

    condition: Condition
    changes: Changes

    async def run(self, tx: Tx[T]) -> T:
        """Run a transaction and return its result after the commit is durable.

        Raises the exceptions of the transaction.

        Raises StoreUnavailable if the engine cannot run the transaction now. In that case, nothing was committed,
        unless the error's message says that the change may have been saved. If the call raises Cancelled, nothing was
        committed.
        """
        ...

    async def read(self, tx: Tx[T]) -> T:
        """Run a read-only transaction on one snapshot, concurrently with writers. Raises StoreUnavailable."""
        ...

    async def peek(self, tx: Tx[T]) -> T:
        """Run a transaction that reads a few rows by key. This takes a fraction of the CPU time of `read`.

        Do not use it for lists. SQLite reads on the caller's thread. PostgreSQL reads without a snapshot, so the rows
        of different statements may be inconsistent. Raises StoreUnavailable.
        """
        ...

    async def check(self, tx: Tx[None], *, writes: bool) -> None:
        """Run a small transaction to check the store's health, even while the store refuses other transactions.

        The result determines whether the store refuses other transactions afterwards. `writes`: True if `tx` changes
        the store. Raises StoreUnavailable.
        """
        ...

    async def size_bytes(self) -> int:
        """Return the store's size on disk. Raises StoreUnavailable."""
        ...
