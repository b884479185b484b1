"""The days and months whose breakdowns a Worker's database has, and which of them a report contains.

The code is independent of the service, as in `recount`. It is based only on docs/develop/worker-months.md.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date, timedelta

_EPOCH = date(1970, 1, 1)
# A day that is this many days older than the last closed day is deleted, even if its month has not been added up.
_LONGEST_WAIT_DAYS = 66


@dataclass(frozen=True)
class Setting:
    """An account's retention: `days`, and `months` before the current month; None keeps months permanently."""

    days: int = 35
    months: int | None = None

    def body(self) -> dict[str, object]:
        """Return this setting as the account fields that the API accepts."""
        return {"days_kept": self.days, "months_kept": "forever" if self.months is None else self.months}


@dataclass(frozen=True)
class Retained:
    """The days (day numbers) and months that the Worker's database has.

    `kept_from`: the first day that is not deleted. `months`: for each month that is added up and not deleted, its first
    day, the first day that its sums contain, and its last day. `next_month`: the number of the next month to add up.
    """

    kept_from: int
    months: tuple[tuple[int, int, int], ...]
    next_month: int

    def used_months(self, first: int, last: int) -> list[tuple[int, int]]:
        """Return the first and last day of each month that a report over these days uses.

        A report uses the sums of a month if it covers the whole month, and some days of the month are deleted.
        """
        return [(begin, end) for start, begin, end in self.months if first <= start < self.kept_from and end <= last]

    def listed_days(self, first: int, last: int) -> set[int]:
        """Return the days of this range that the breakdowns of a report contain."""
        days = set(range(max(first, self.kept_from), last + 1))
        return days.union(*(range(begin, end + 1) for begin, end in self.used_months(first, last)))

    def listed_from(self, first: int, last: int) -> int:
        """Return the first day that the breakdowns of a report over this range can contain."""
        return max(first, min([self.kept_from, *(begin for begin, _ in self.used_months(first, last))]))


def read_retained(text: str, setting: Setting) -> Retained:
    """Parse the state of the Worker's cron job.

    Raises AssertionError if the Worker has deleted a day or a month too early.
    """
    state = json.loads(text)
    closed, kept_from, months = state["day"], state["kept_from"], state["months"]
    assert kept_from <= max(0, closed - setting.days), (state, setting)
    assert kept_from <= max(first_day_of(months["month"]), closed - _LONGEST_WAIT_DAYS), state
    if "kept_from" in months:
        assert setting.months is not None, state
        assert months["kept_from"] <= month_of(closed + 1) - setting.months, (state, setting)
    added = range(months["from"], months["month"])
    return Retained(
        kept_from,
        tuple(
            (start, months["first_days"].get(str(month), start), first_day_of(month + 1) - 1)
            for month in added
            for start in [first_day_of(month)]
        ),
        months["month"],
    )


def month_of(day: int) -> int:
    """Return the month of a day number, as the number of months since the year 0."""
    at = _EPOCH + timedelta(day)
    return at.year * 12 + at.month - 1


def first_day_of(month: int) -> int:
    """Return the day number of the first day of a month."""
    return (date(month // 12, month % 12 + 1, 1) - _EPOCH).days
