"""Checks the service's store every second, with a read or a small write.

Outages are therefore detected even without requests. An outage ends when a write has reached the disk.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

import trio

from svc.errors import StoreUnavailable
from svc.faults import contained
from svc.store.tx import sql

if TYPE_CHECKING:
    from svc.store.tx import Store, Tx

log = logging.getLogger(__name__)

# The time between the starts of two checks.
_CHECK_EVERY_S = 1.0
# A check that takes longer than this means that the store is unavailable.
ANSWER_S = 2.0


async def watch(store: Store, service: trio.CancelScope) -> None:
    """Check the store until another service takes it over. Then cancel `service` and return."""
    condition = store.condition
    while not condition.replaced.is_set():
        next_at = trio.current_time() + _CHECK_EVERY_S
        with contained(log, "store check failed"):
            await _check(store)
        with trio.move_on_at(next_at):
            await condition.replaced.wait()
    log.error("store taken over by another service; stopping")
    service.cancel()


async def _check(store: Store) -> None:
    condition = store.condition
    since = time.monotonic()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_report_silence, store)
        try:
            if condition.write_is_due:
                await store.check(small_write(), writes=True)
                condition.written(since)
            else:
                await store.check(_read(), writes=False)
        except StoreUnavailable as error:
            if not condition.replaced.is_set():
                condition.failed(error)
        nursery.cancel_scope.cancel()


async def _report_silence(store: Store) -> None:
    """Report a slow check as a failure before it ends, because a check may never end if the disk hangs."""
    await trio.sleep(ANSWER_S)
    store.condition.failed(StoreUnavailable())


def _read() -> Tx[None]:
    yield sql("select epoch from serving")


def small_write() -> Tx[None]:
    """Test whether the store accepts writes, by incrementing a counter that has no other use."""
    yield sql("update serving set looks = looks + 1")
