"""Wraps a real store, and simulates killing the process during one of the store's transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.store.passing import Passing

if TYPE_CHECKING:
    from svc.store.tx import Store, Tx


class Killed(BaseException):
    """Raised instead of killing the process."""


class Mortal(Passing):
    """A store that dies before or after one of its calls."""

    def __init__(self, store: Store, dies_at: float, *, after: bool) -> None:
        super().__init__(store)
        self._remaining = dies_at
        self._after = after

    async def run(self, tx: Tx[Any]) -> Any:
        return await self._counted(super().run, tx)

    async def read(self, tx: Tx[Any]) -> Any:
        return await self._counted(super().read, tx)

    async def _counted(self, call: Any, tx: Tx[Any]) -> Any:
        self._remaining -= 1
        dies = self._remaining == 0
        if dies and not self._after:
            tx.close()
            raise Killed
        result = await call(tx)
        if dies:
            raise Killed
        return result
