"""A service looks at its store every second, with a read or with a small write of its own.

So a loss is also known while nobody asks for anything, and its end is seen by a write that reached the disk.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import trio

from svc.errors import StoreUnavailable
from svc.faults import contained
from svc.store.tx import sql

if TYPE_CHECKING:
    from svc.store.tx import Store, Tx

log = logging.getLogger(__name__)

_LOOK_EVERY_S = 1.0


async def watch(store: Store, service: trio.CancelScope) -> None:
    """Keep the store's condition true, for ever; cancel `service` when another service has replaced this one."""
    condition = store.condition
    while not condition.replaced.is_set():
        with contained(log, "the look at the store failed"):
            await _look(store)
        with trio.move_on_after(_LOOK_EVERY_S):
            await condition.replaced.wait()
    log.error("another service has taken the store over; this one ends")
    service.cancel()


async def _look(store: Store) -> None:
    condition = store.condition
    try:
        with condition.looking() as since:
            if condition.write_is_due:
                await store.run(small_write())
                condition.written(since)
            else:
                await store.read(_read())
    except StoreUnavailable as error:
        if not condition.replaced.is_set():
            condition.failed(error)


def _read() -> Tx[None]:
    yield sql("select epoch from serving")


def small_write() -> Tx[None]:
    """Change a number that nobody reads: whether the store can be written."""
    yield sql("update serving set looks = looks + 1")
