"""Whether the store can be used: its loss is logged once when it begins and once when it ends, and /readyz tells it.

The engines say what failed; the watch (`store/engines/watch.py`) says what it saw.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from typing import TYPE_CHECKING

import trio

if TYPE_CHECKING:
    from svc.errors import StoreUnavailable

log = logging.getLogger(__name__)

# A disk that has become full or read-only is found out within this time, for one small write to it.
_WRITE_EVERY_S = 30.0


class Condition:
    """What is known of one store. The engines' threads write it, so every change is under a lock."""

    def __init__(self) -> None:
        self.replaced = trio.Event()
        self._lock = threading.Lock()
        self._trouble: str | None = None
        self._lost_at = 0.0
        self._failed_at = -math.inf
        self._written_at = -math.inf

    @property
    def trouble(self) -> str | None:
        """Why the store cannot be used, for people; None while it works."""
        return self._trouble

    @property
    def write_is_due(self) -> bool:
        """Only a write would tell whether the store works."""
        return self._trouble is not None or time.monotonic() - self._written_at >= _WRITE_EVERY_S

    def failed(self, error: StoreUnavailable) -> None:
        """The store could not be used; the cause of `error` is what the engine said."""
        with self._lock:
            begins = self._trouble is None
            self._trouble = error.message
            self._failed_at = time.monotonic()
            if begins:
                self._lost_at = self._failed_at
        if begins:
            cause = error.__cause__ or error
            log.error(
                "the store is lost", extra={"why": error.message, "kind": type(cause).__name__, "error": str(cause)}
            )

    def written(self, since: float) -> None:
        """A check that began at `since` (monotonic seconds) has changed the store: it works, if nothing failed since.

        Other transactions tell nothing: they may have changed nothing.
        """
        with self._lock:
            if self._failed_at > since:
                return
            ends = self._trouble is not None
            self._trouble = None
            self._written_at = time.monotonic()
        if ends:
            log.info("the store is back", extra={"after_s": round(self._written_at - self._lost_at, 1)})
