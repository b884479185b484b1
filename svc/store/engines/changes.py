"""Notifies listeners of committed changes.

For example, the supervisor wakes the actors of changed accounts, and the outbox checks for new emails.

Only listeners in this process are notified. This is sufficient, because only one service can use a store.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


# Transactions yield the ids of changed accounts. A transaction that queues an email yields this name instead.
OUTBOX = "outbox"


class Changes:
    """The listeners of one store. Use this object only on the Trio thread."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[str], None]] = []
        self._mail_listeners: list[Callable[[], None]] = []

    @contextmanager
    def subscribe(self, listener: Callable[[str], None]) -> Iterator[None]:
        """Return a context manager that registers a listener for changed accounts.

        Until its block ends, each commit that changes an account calls `listener` with the Cloudflare account id.
        `listener` must not raise.
        """
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    @contextmanager
    def on_email_posted(self, listener: Callable[[], None]) -> Iterator[None]:
        """Return a context manager that registers a listener for queued emails.

        Until its block ends, each commit that queues an email calls `listener`. `listener` must not raise.
        """
        self._mail_listeners.append(listener)
        try:
            yield
        finally:
            self._mail_listeners.remove(listener)

    def notify(self, changed: Iterable[str]) -> None:
        """Notify the listeners. The engines call this after the commit.

        `changed`: the ids of the changed Cloudflare accounts, and `OUTBOX` if an email was queued.
        """
        for name in changed:
            if name == OUTBOX:
                for notify_of_mail in self._mail_listeners:
                    notify_of_mail()
                continue
            for listener in self._listeners:
                listener(name)
