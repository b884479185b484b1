"""A store in which somebody else is quicker."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from svc.store.tx import Store, Tx

T = TypeVar("T")


class Overtaken:
    """A real store; before the next transaction that writes, `first` is done, once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.condition = store.condition
        self.changes = store.changes
        self.first: Callable[[], Awaitable[object]] | None = None

    async def run(self, tx: Tx[T]) -> T:
        first, self.first = self.first, None
        if first is not None:
            await first()
        return await self._store.run(tx)

    async def read(self, tx: Tx[T]) -> T:
        return await self._store.read(tx)

    async def peek(self, tx: Tx[T]) -> T:
        return await self._store.peek(tx)

    async def size_bytes(self) -> int:
        return await self._store.size_bytes()
