"""Wraps a real store, for tests that perform an action during one of the store's transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from svc.store.tx import Store, Tx

T = TypeVar("T")


class Passing:
    """A store that delegates everything to a real store. Tests override `run`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.condition = store.condition
        self.changes = store.changes

    async def run(self, tx: Tx[T]) -> T:
        return await self._store.run(tx)

    async def read(self, tx: Tx[T]) -> T:
        return await self._store.read(tx)

    async def peek(self, tx: Tx[T]) -> T:
        return await self._store.peek(tx)

    async def check(self, tx: Tx[None], *, writes: bool) -> None:
        await self._store.check(tx, writes=writes)

    async def size_bytes(self) -> int:
        return await self._store.size_bytes()
