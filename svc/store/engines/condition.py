"""The store's health. An outage is logged when it begins and when it ends, and /readyz reports it.

The engines report failed transactions, and `store/engines/watch.py` reports the results of its checks.
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

# The interval of test writes. Only a write detects a full or read-only disk.
_WRITE_EVERY_S = 30.0


class Condition:
    """The health of one store. Several threads change it, so every change acquires a lock."""

    def __init__(self) -> None:
        self.replaced = trio.Event()
        self._lock = threading.Lock()
        self._problem: str | None = None
        self._lost_at = 0.0
        self._failed_at = -math.inf
        self._written_at = -math.inf

    @property
    def problem(self) -> str | None:
        """The reason why the store cannot be used, as a sentence for users. None while the store works."""
        return self._problem

    @property
    def write_is_due(self) -> bool:
        """True if the next check must write to the store, because reading would not show whether the store works."""
        return self._problem is not None or time.monotonic() - self._written_at >= _WRITE_EVERY_S

    def failed(self, error: StoreUnavailable) -> None:
        """Record a failure of the store. `error.__cause__`: the engine's exception."""
        with self._lock:
            begins = self._problem is None
            self._problem = error.message
            self._failed_at = time.monotonic()
            if begins:
                self._lost_at = self._failed_at
        if begins:
            cause = error.__cause__ or error
            log.error(
                "store unavailable", extra={"why": error.message, "kind": type(cause).__name__, "error": str(cause)}
            )

    def written(self, since: float) -> None:
        """Record that a check wrote to the store. `since`: the time when the check began (monotonic seconds).

        The store then counts as working, unless a failure was recorded after `since`. Only checks call this, because
        other transactions do not always write.
        """
        with self._lock:
            if self._failed_at > since:
                return
            ends = self._problem is not None
            self._problem = None
            self._written_at = time.monotonic()
        if ends:
            log.info("store available again", extra={"after_s": round(self._written_at - self._lost_at, 1)})
