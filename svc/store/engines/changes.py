"""Who hears what a transaction changed, once it is committed: the supervisor wakes accounts' actors, the outbox looks.

A change is told to this process only, which is enough while one service serves a store.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


# What a transaction names that put an e-mail into the outbox; no account's id.
OUTBOX = "outbox"


class Changes:
    """The listeners of one store. Used on Trio's thread only."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[str], None]] = []
        self._of_posts: list[Callable[[], None]] = []

    @contextmanager
    def told_to(self, listener: Callable[[str], None]) -> Iterator[None]:
        """While the block runs, call `listener` with the edge account id of every change; it must not raise."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    @contextmanager
    def told_of_posts(self, listener: Callable[[], None]) -> Iterator[None]:
        """While the block runs, call `listener` when an e-mail was put into the outbox; it must not raise."""
        self._of_posts.append(listener)
        try:
            yield
        finally:
            self._of_posts.remove(listener)

    def tell(self, changed: Iterable[str]) -> None:
        """Tell which accounts a transaction changed, or the outbox; the engines call it after the commit."""
        for name in changed:
            if name == OUTBOX:
                for hear in self._of_posts:
                    hear()
                continue
            for listener in self._listeners:
                listener(name)
