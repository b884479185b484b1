"""A store that records the SQL statements of requests and emails."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar, cast

from svc.store.tx import Statement

if TYPE_CHECKING:
    from types import GeneratorType

    from svc.store.tx import Store, Tx

T = TypeVar("T")
# True in tasks that run for a request; new tasks inherit the request's context
IN_REQUEST = ContextVar("IN_REQUEST", default=False)
EMAIL_WORK = ("compose", "_mark_sent")  # the outbox's transactions that send an email; its other transactions only poll


class RecordingStore:
    """A real store that also records the SQL statements of requests and of email senders."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.condition = store.condition
        self.changes = store.changes
        self.by_request: list[str] = []
        self.by_email: list[str] = []

    async def run(self, tx: Tx[T]) -> T:
        return await self._store.run(self._recorded(tx))

    async def read(self, tx: Tx[T]) -> T:
        return await self._store.read(self._recorded(tx))

    async def peek(self, tx: Tx[T]) -> T:
        return await self._store.peek(self._recorded(tx))

    async def check(self, tx: Tx[None], *, writes: bool) -> None:
        await self._store.check(tx, writes=writes)

    async def size_bytes(self) -> int:
        return await self._store.size_bytes()

    def _recorded(self, tx: Tx[T]) -> Tx[T]:
        if IN_REQUEST.get():
            return _recording(tx, self.by_request)
        name = cast("GeneratorType[Any, Any, Any]", tx).__name__
        return _recording(tx, self.by_email) if name in EMAIL_WORK else tx


def _recording(tx: Tx[T], seen: list[str]) -> Tx[T]:
    step = next(tx)
    while True:
        if isinstance(step, Statement):
            seen.append(step.text)
        rows = yield step
        try:
            step = tx.send(rows)
        except StopIteration as end:
            result: T = end.value
            return result
