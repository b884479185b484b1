"""Wall-clock time: integers, epoch milliseconds, UTC. The one place that turns them into text and days."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, date, datetime

# A wall clock: returns epoch milliseconds, UTC. Passed in, so that a test can hold time still.
Clock = Callable[[], int]

HOUR_MS = 3_600_000
DAY_MS = 86_400_000
# 9999-12-31, as a number: what others tell of a day beyond it has no text and is nobody's.
LAST_DAY = 2_932_896


def system_clock() -> int:
    """Epoch milliseconds now."""
    return time.time_ns() // 1_000_000


def iso(at_ms: int) -> str:
    """ISO 8601 with milliseconds and Z, e.g. 2026-11-21T04:00:00.000Z."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{at_ms % 1000:03d}Z"


def day_of(at_ms: int) -> int:
    """The UTC day as a number: days since 1970-01-01."""
    return at_ms // DAY_MS


def day_text(day: int) -> str:
    """A day number as YYYY-MM-DD."""
    return date.fromordinal(date(1970, 1, 1).toordinal() + day).isoformat()


def day_number(text: str) -> int:
    """YYYY-MM-DD as a day number. Raises ValueError."""
    return date.fromisoformat(text).toordinal() - date(1970, 1, 1).toordinal()


def epoch_ms(moment: datetime) -> int:
    """A moment with a zone as epoch milliseconds, rounded down."""
    return int(moment.timestamp() * 1000)
