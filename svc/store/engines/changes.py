"""Notify listeners of committed changes. The supervisor wakes the accounts' actors, and the outbox checks for emails.

Only listeners in this process are notified. This is enough, because only one service can use a store.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


# A transaction that queues an email yields this name instead of the id of an account.
OUTBOX = "outbox"


class Changes:
    """The listeners of one store. Use it on the Trio thread only."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[str], None]] = []
        self._mail_listeners: list[Callable[[], None]] = []

    @contextmanager
    def subscribe(self, listener: Callable[[str], None]) -> Iterator[None]:
        """Call `listener` with the Cloudflare account id of every change until the block ends. It must not raise."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    @contextmanager
    def on_email_posted(self, listener: Callable[[], None]) -> Iterator[None]:
        """Call `listener` after each commit that queues an email, until the block ends. It must not raise."""
        self._mail_listeners.append(listener)
        try:
            yield
        finally:
            self._mail_listeners.remove(listener)

    def notify(self, changed: Iterable[str]) -> None:
        """Notify the listeners that a transaction changed these accounts, or queued an email.

        The engines call this after the commit.
        """
        for name in changed:
            if name == OUTBOX:
                for notify_of_mail in self._mail_listeners:
                    notify_of_mail()
                continue
            for listener in self._listeners:
                listener(name)
