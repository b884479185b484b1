"""A wall clock that changes only when a test advances it."""

from __future__ import annotations

# 2026-11-21T04:00:00Z, a Saturday.
START_MS = 1_795_233_600_000


class FrozenClock:
    """A `svc.clock.Clock` (epoch ms, UTC) that changes only when a test advances it."""

    def __init__(self, now_ms: int = START_MS) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        return self.now_ms

    def advance_s(self, seconds: float) -> None:
        """Move the clock forward by `seconds`."""
        self.now_ms += int(seconds * 1000)
