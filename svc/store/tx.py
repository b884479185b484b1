"""Transactions as generators: the one form in which everything is read and written.

A transaction is a function that *yields* statements and *receives* their rows; an engine drives it, in a thread for
SQLite, in one coroutine for PostgreSQL, and commits when it returns. It knows SQL and no engine:

    def rename(account_id: str, name: str) -> Tx[bool]:
        rows = yield sql("update accounts set name = $2 where id = $1 returning id", account_id, name)
        return bool(rows)

    renamed = await store.run(rename("acc_…", "shop"))

One function is one transaction is one crossing into the engine: cancelled or failed, all of it is undone. Raising
inside rolls back and reaches the caller. `yield from` puts transactions together. Nothing outside the store may be
waited for inside.

A transaction that changes what an account's actor acts on says so: it yields `Changed(edge_account_id)` beside its
statements. After the commit, and only then, the listeners to the store's changes (`store/engines/changes.py`) are told,
also when the caller was cancelled meanwhile.

What it changes for a user it tells, too: it yields an `Event`, which is written with it (`store/events.py`). One that
finds that all is as it was asked to be yields `UNCHANGED`, and nothing of it is told.

The text runs on both engines: `$1` parameters, bare ones cast; a list as one parameter, `id = any($1)`; integers for
time (epoch ms) and booleans; JSON as text; no now(); sums cast to bigint. Where two transactions may meet, let the
statement decide (`on conflict do nothing returning`, `update … where state = … returning`): on PostgreSQL a row that
was read may have changed since.
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

# One row of an answer, by column name.
Row = Mapping[str, Any]
# A tuple of texts is one parameter, of any length: `… where id = any($1)`.
Parameter = str | int | bytes | None | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Statement:
    """One SQL statement and the parameters of each of its runs, $1 first; the repr shows none of them."""

    text: str
    runs: Sequence[tuple[Parameter, ...]] = field(repr=False)
    answers: bool = True  # False: it may run any number of times, and its rows are not asked for


@dataclass(frozen=True, slots=True)
class Changed:
    """Named by a transaction: the actor of this edge account has something to do once it is committed. No rows."""

    edge_account_id: str


class Unchanged:
    """Named by a transaction: it has changed nothing. No rows, and no event."""


UNCHANGED = Unchanged()
# Named in the place of an account by a transaction that puts an e-mail into the outbox.
POSTED = Changed(OUTBOX)

Tx = Generator[Statement | Changed | Event | Unchanged, list[Row], T]


def sql(text: str, *parameters: Parameter) -> Statement:
    """A statement, run once. Raises ValueError when the text does not name exactly $1 … $n."""
    if _parameters_of(text) != len(parameters):
        raise ValueError(f"{len(parameters)} parameters given to: {text}")
    return Statement(text, (parameters,))


def many(text: str, runs: Sequence[tuple[Parameter, ...]]) -> Statement:
    """A statement, run once for each tuple of parameters, in order and in one crossing; it gives no rows.

    Of an insert that may meet its own rows (`on conflict do update`) no two runs may have the same key: PostgreSQL
    takes all runs at once.
    Raises ValueError when the text does not name exactly as many parameters as each tuple has.
    """
    wanted = _parameters_of(text)
    if any(len(parameters) != wanted for parameters in runs):
        raise ValueError(f"not every run has {wanted} parameters: {text}")
    return Statement(text, runs, answers=False)


def given(value: T) -> Tx[T]:
    """A transaction that changes nothing and has its value already, for an answer that is to be kept."""
    yield from ()
    return value


def placeholders(count: int, first: int = 1) -> str:
    """`count` parameters for a list: `$1, $2, $3`; an empty list is null, in which nothing is."""
    return ", ".join(f"${number}" for number in range(first, first + count)) or "null"


def to_json(value: object) -> str | None:
    """JSON as it is stored, a dataclass as an object with its fields in their order; null for None."""
    return None if value is None else json.dumps(value, default=vars)


def from_json(text: str | None) -> Any:
    """The value of stored JSON; None for null."""
    return None if text is None else json.loads(text)


def from_json_as(shape: type[T], text: str | None) -> T | None:
    """The dataclass `shape` of a stored JSON object, by the names of its fields; None for null.

    Another version of the service may have written it: what it has more is ignored, what it lacks has its default.
    """
    if text is None:
        return None
    stored = json.loads(text)
    known = {one.name: stored[one.name] for one in fields(shape) if one.name in stored}  # type: ignore[arg-type]
    return shape(**known)


def note_from_json(text: str | None) -> ErrorNote | None:
    """A stored note; one whose code is known only to a newer version keeps its message, under `internal`."""
    note = from_json_as(ErrorNote, text)
    return note if note is None or note.code in CATALOGUE else replace(note, code="internal")


@lru_cache(maxsize=1_000)
def _parameters_of(text: str) -> int:
    numbers = {int(number) for number in re.findall(r"\$(\d+)", text)}
    if numbers != set(range(1, len(numbers) + 1)):
        raise ValueError(f"parameters are not numbered from $1 without a gap: {text}")
    return len(numbers)


class Store(Protocol):
    """What both engines are."""

    condition: Condition
    changes: Changes

    async def run(self, tx: Tx[T]) -> T:
        """Run a transaction; returns after its commit is durable. Raises what the transaction raised.

        Raises StoreUnavailable when the engine could not do it now; nothing was done. Cancelled means the same.
        """
        ...

    async def read(self, tx: Tx[T]) -> T:
        """Run a transaction that only reads, on one snapshot, beside the writers. Raises StoreUnavailable."""
        ...

    async def peek(self, tx: Tx[T]) -> T:
        """Run a transaction that reads a few rows by their keys, at a fraction of the cost of `read`.

        SQLite reads on the caller's own thread, PostgreSQL statement by statement: so its rows may be of different
        moments, and it is not for lists. Raises StoreUnavailable.
        """
        ...

    async def check(self, tx: Tx[None], *, writes: bool) -> None:
        """Run a small transaction that shows whether the store can be used, even while the store refuses others.

        What the check finds decides what the store refuses from then on. `writes`: the transaction changes the store.
        Raises StoreUnavailable.
        """
        ...

    async def size_bytes(self) -> int:
        """What all that is stored takes on its disk. Raises StoreUnavailable."""
        ...
