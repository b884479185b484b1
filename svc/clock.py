"""Wall-clock times as integers (epoch milliseconds, UTC), and their conversion to text and day numbers."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, date, datetime

# A wall clock that returns epoch milliseconds (UTC). Functions get the clock as an argument, so that tests can control
# the time.
Clock = Callable[[], int]

HOUR_MS = 3_600_000
DAY_MS = 86_400_000
# 9999-12-31 as a day number. Later days cannot be formatted, so the service ignores them in external data.
LAST_DAY = 2_932_896


def system_clock() -> int:
    """Return the current time in epoch milliseconds."""
    return time.time_ns() // 1_000_000


def iso(at_ms: int) -> str:
    """Format a time as ISO 8601 with milliseconds and Z: 2026-11-21T04:00:00.000Z."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{at_ms % 1000:03d}Z"


def day_of(at_ms: int) -> int:
    """Return the UTC day number: the number of days since 1970-01-01."""
    return at_ms // DAY_MS


def day_text(day: int) -> str:
    """Format a day number as YYYY-MM-DD."""
    return date.fromordinal(date(1970, 1, 1).toordinal() + day).isoformat()


def day_number(text: str) -> int:
    """Return the day number of a date in the format YYYY-MM-DD. Raises ValueError."""
    return date.fromisoformat(text).toordinal() - date(1970, 1, 1).toordinal()


def month_of(day: int) -> int:
    """Return the month of a day number: the number of months since the year 0."""
    at = date.fromisoformat(day_text(day))
    return at.year * 12 + at.month - 1


def first_day_of(month: int) -> int:
    """Return the day number of a month's first day. `month`: the number of months since the year 0."""
    return day_number(date(month // 12, month % 12 + 1, 1).isoformat())


def epoch_ms(moment: datetime) -> int:
    """Convert a timezone-aware datetime to epoch milliseconds, rounded down."""
    return int(moment.timestamp() * 1000)
