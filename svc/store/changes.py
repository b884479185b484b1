"""Who hears which accounts a transaction changed, once it is committed: the supervisor wakes their actors.

A change is told to this process only, which is enough while one service serves a store.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


class Changes:
    """The listeners of one store. Used on Trio's thread only."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[str], None]] = []

    @contextmanager
    def told_to(self, listener: Callable[[str], None]) -> Iterator[None]:
        """While the block runs, call `listener` with the edge account id of every change; it must not raise."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    def tell(self, edge_account_ids: Iterable[str]) -> None:
        """Tell which accounts a transaction changed; the engines call it after the commit."""
        for edge_account_id in edge_account_ids:
            for listener in self._listeners:
                listener(edge_account_id)
