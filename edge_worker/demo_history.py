"""Invented daily totals for the two years before the demo's visits. They grow slowly, and are lower on weekends.

The demo imports them through the API, as a user would.
"""

from __future__ import annotations

import base64
import math
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_EPOCH = date(1970, 1, 1)
_MONTHS = 24
_WEEKEND = (5, 6)


def day_number(text: str) -> int:
    """Return the number of a UTC day in ISO format (days since 1970-01-01)."""
    return (date.fromisoformat(text) - _EPOCH).days


def day_of(at_ms: int) -> int:
    """Return the UTC day number of a time in epoch ms."""
    return (datetime.fromtimestamp(at_ms / 1000, UTC).date() - _EPOCH).days


def month_start(day: int, months_before: int) -> int:
    """Return the day number of the first day of the month that is `months_before` months before the month of `day`."""
    first = _EPOCH + timedelta(day)
    number = first.year * 12 + first.month - 1 - months_before
    return (date(number // 12, number % 12 + 1, 1) - _EPOCH).days


def invented_days(last_day: int, today: int, views: int) -> dict[int, dict[str, int]]:
    """Return views, visitors and bots by day number, up to `last_day`.

    The days begin with the first day of the month that is 23 months before the month of `today`. `views`: the number of
    views on a weekday near `last_day`.
    """
    first_day = month_start(today, _MONTHS - 1)
    days = {}
    for day in range(first_day, last_day + 1):
        growth = 0.4 + 0.6 * (day - first_day) / (last_day - first_day + 1)
        season = 1 + 0.15 * math.sin(math.tau * (day % 365) / 365)
        weekday = 0.5 if (_EPOCH + timedelta(day)).weekday() in _WEEKEND else 1
        # 7 and 5 have no common divisor, so the variation repeats only after five weeks.
        counted = round(views * growth * season * weekday) + day * 3 % 5
        days[day] = {"views": counted, "visitors": counted - counted // 4, "bots": counted // 6}
    return days


def import_file(days: Mapping[int, Mapping[str, int]]) -> str:
    """Return the days as a CSV table in base64, the format of the `file` field of `POST /v1/…/totals`."""
    lines = ["day,views,visitors,bots"]
    for day, counts in days.items():
        lines.append(f"{_EPOCH + timedelta(day)},{counts['views']},{counts['visitors']},{counts['bots']}")
    return base64.b64encode("\n".join(lines).encode()).decode()
