"""Cron expressions of the platform: five fields, UTC, weekday 1 to 7 with 1 = Sunday, and L, W and #.

Cloudflare docs: workers/configuration/cron-triggers.
"""

from __future__ import annotations

import calendar
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

MONTHS = {name: number for number, name in enumerate(calendar.month_abbr) if name}
MONTH_NAMES = {name.upper(): str(number) for name, number in MONTHS.items()}
DAY_NAMES = {name: str(number) for number, name in enumerate(("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"), 1)}


def _number(text: str, low: int, high: int) -> int:
    if not text.isdecimal() or not low <= int(text) <= high:
        raise ValueError(f"{text!r} is not between {low} and {high}")
    return int(text)


def _numbers(field: str, low: int, high: int) -> frozenset[int]:
    """Return the numbers of a plain field: lists of `*`, n, a-b, each with an optional /step. Raises ValueError."""
    found: set[int] = set()
    for part in field.split(","):
        span, slash, step_text = part.partition("/")
        step = _number(step_text, 1, high) if slash else 1
        if span == "*":
            first, last = low, high
        elif "-" in span:
            start, _, end = span.partition("-")
            first, last = _number(start, low, high), _number(end, low, high)
            if first > last:
                raise ValueError(f"the range {span!r} is reversed")
        else:
            first = _number(span, low, high)
            last = high if slash else first
        found.update(range(first, last + 1, step))
    return frozenset(found)


def _named(field: str, names: dict[str, str]) -> str:
    upper = field.upper()
    for name, number in names.items():
        upper = upper.replace(name, number)
    return upper


def _last_day(moment: datetime) -> int:
    return calendar.monthrange(moment.year, moment.month)[1]


def _weekday(moment: datetime) -> int:
    return (moment.weekday() + 1) % 7 + 1


def _nearest_workday(moment: datetime, day: int) -> int:
    """Return the weekday (Monday to Friday) nearest to a day of the month, within that month."""
    wanted = moment.replace(day=min(day, _last_day(moment)))
    for shift in (0, -1, 1, -2, 2):
        near = wanted + timedelta(days=shift)
        if near.month == wanted.month and near.weekday() < 5:
            return near.day
    raise AssertionError("five consecutive days always include a workday")


@dataclass(frozen=True)
class Cron:
    """A parsed cron expression."""

    minutes: frozenset[int]
    hours: frozenset[int]
    day: str
    months: frozenset[int]
    weekday: str

    @classmethod
    def parse(cls, text: str) -> Cron:
        """Parse an expression. Raises ValueError if the platform would reject it."""
        fields = text.split()
        if len(fields) != 5:
            raise ValueError("a cron expression must have five fields")
        day, weekday = fields[2].upper(), _named(fields[4], DAY_NAMES)
        cron = cls(
            _numbers(fields[0], 0, 59),
            _numbers(fields[1], 0, 23),
            day,
            _numbers(_named(fields[3], MONTH_NAMES), 1, 12),
            weekday,
        )
        probe = datetime(2026, 1, 1, tzinfo=UTC)
        cron._day_fits(probe)
        cron._weekday_fits(probe)
        return cron

    def _day_fits(self, moment: datetime) -> bool:
        if self.day == "L":
            return moment.day == _last_day(moment)
        if self.day in ("LW", "WL"):
            return moment.day == _nearest_workday(moment, 31)
        if self.day.endswith("W"):
            return moment.day == _nearest_workday(moment, _number(self.day[:-1], 1, 31))
        return moment.day in _numbers(self.day, 1, 31)

    def _weekday_fits(self, moment: datetime) -> bool:
        if self.weekday == "L":
            return _weekday(moment) == 7
        if self.weekday.endswith("L"):
            last_week = moment.day > _last_day(moment) - 7
            return _weekday(moment) == _number(self.weekday[:-1], 1, 7) and last_week
        if "#" in self.weekday:
            weekday, _, which = self.weekday.partition("#")
            right_week = (moment.day - 1) // 7 + 1 == _number(which, 1, 5)
            return _weekday(moment) == _number(weekday, 1, 7) and right_week
        return _weekday(moment) in _numbers(self.weekday, 1, 7)

    def fits(self, at: int) -> bool:
        """Return True if the cron fires in the minute of `at` (epoch ms).

        If both day fields are restricted, only one of them has to match.
        """
        moment = datetime.fromtimestamp(at / 1000, UTC)
        if moment.minute not in self.minutes or moment.hour not in self.hours or moment.month not in self.months:
            return False
        if self.day == "*" or self.weekday == "*":
            return self._day_fits(moment) and self._weekday_fits(moment)
        return self._day_fits(moment) or self._weekday_fits(moment)
