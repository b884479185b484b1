"""A table for tests, and transactions that use it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import trio

from svc.errors import Conflict
from svc.store.tx import sql

if TYPE_CHECKING:
    from svc.store.tx import Tx


def make_table() -> Tx[None]:
    yield sql("create table t (id bigint primary key, n bigint not null)")


def put(number: int, n: int = 0) -> Tx[None]:
    """Insert a row. Raises Conflict if a row with this number exists."""
    rows = yield sql("insert into t (id, n) values ($1, $2) on conflict (id) do nothing returning id", number, n)
    if not rows:
        raise Conflict("link_exists")


def pair(number: int) -> Tx[None]:
    """Insert two rows, `number` and `-number`."""
    yield from put(number)
    yield from put(-number)


def ids() -> Tx[list[int]]:
    rows = yield sql("select id from t order by id")
    return [row["id"] for row in rows]


def count() -> Tx[int]:
    rows = yield sql("select count(*) as n from t")
    return int(rows[0]["n"])


class Late:
    """A transaction that does its work, and then waits for the test before it commits. A cancellation during this wait
    is too late.
    """

    def __init__(self, work: Tx[Any]) -> None:
        self._work = work
        self._begun = threading.Event()
        self._go_on = threading.Event()

    def tx(self) -> Tx[Any]:
        """Return the transaction. While it waits, it blocks the engine's thread."""
        value = yield from self._work
        self._begun.set()
        self._go_on.wait()
        return value

    async def begun(self) -> None:
        """Wait until the transaction has done its work, so that only the commit remains."""
        await trio.to_thread.run_sync(self._begun.wait)

    def go_on(self) -> None:
        """End the wait, so that the transaction commits."""
        self._go_on.set()
