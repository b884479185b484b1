"""Runs transactions slowly or in a fixed order, so that concurrent transactions interleave."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, TypeVar

import trio

from svc.store.tx import Statement, sql

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from svc.store.tx import Store, Tx

T = TypeVar("T")
# SQL that returns a row if another transaction waits for a lock of this transaction.
_IS_AWAITED = "select 1 from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid)) limit 1"


def slowly(tx: Tx[T], pause: str) -> Tx[T]:
    """Run the transaction with a pause after each statement."""
    try:
        step = next(tx)
        while True:
            rows = yield step
            yield sql(pause)
            step = tx.send(rows)
    except StopIteration as done:
        value: T = done.value
        return value


def paused_before(text: str, tx: Tx[T], pause: Tx[None]) -> Tx[T]:
    """Run the transaction, with `pause` before its first statement that begins with `text`."""
    try:
        step = next(tx)
        while not (isinstance(step, Statement) and step.text.startswith(text)):
            step = tx.send((yield step))
        yield from pause
        while True:
            step = tx.send((yield step))
    except StopIteration as done:
        value: T = done.value
        return value


async def run_beside(store: Store, first: Callable[[Tx[None]], Tx[object]], second: Callable[[], Awaitable[T]]) -> T:
    """Run a transaction and, in the middle of it, `second`. Return the result of `second`. Works only on PostgreSQL.

    `first`: returns the transaction, which must run its parameter where it pauses. It then continues when `second`
    waits for a lock of the transaction, or has ended. If the two transactions wait for each other, the test fails.
    """
    reached, ended = threading.Event(), threading.Event()
    results = []

    def pause() -> Tx[None]:
        yield sql("set local deadlock_timeout = '100ms'")
        reached.set()
        while not (ended.is_set() or (yield sql(_IS_AWAITED))):
            yield sql("select pg_sleep(0.01)")

    async def run_second() -> None:
        await trio.to_thread.run_sync(reached.wait, abandon_on_cancel=True)
        try:
            results.append(await second())
        finally:
            ended.set()

    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(store.run, first(pause()))
            nursery.start_soon(run_second)
    return results[0]
