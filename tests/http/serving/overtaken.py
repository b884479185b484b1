"""A store that runs a competing write first, to test race conditions."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from tests.store.passing import Passing

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from svc.store.tx import Store, Tx

T = TypeVar("T")


class RacingStore(Passing):
    """A store that runs `first` once, before the next transaction that writes."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.first: Callable[[], Awaitable[object]] | None = None

    async def run(self, tx: Tx[T]) -> T:
        first, self.first = self.first, None
        if first is not None:
            await first()
        return await super().run(tx)
