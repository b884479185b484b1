"""Runs transactions slowly, so that concurrent transactions interleave."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from svc.store.tx import sql

if TYPE_CHECKING:
    from svc.store.tx import Tx

T = TypeVar("T")


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
