"""Computes the periods of email reports: weeks from Monday to Sunday, and calendar months, in UTC. No I/O.

A report is due on the day after its period: on a Monday, or on the first of a month.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from svc.model import MailingKind

_WEEK = 7
# 1970-01-01, day 0, was a Thursday.
_DAY_0_WEEKDAY = 3
_DAY_0 = date(1970, 1, 1).toordinal()
# Adding this many days to the first of a month gives a day in the next month.
_INTO_NEXT_MONTH = 31


@dataclass(frozen=True)
class ReportPeriod:
    """The days (day numbers) from `first` to `last`, and the first day of the previous period."""

    kind: MailingKind
    first: int
    last: int
    first_before: int

    @property
    def due_day(self) -> int:
        """The day on which the report about this period is due."""
        return self.last + 1


def due_day(kind: MailingKind, day: int) -> int:
    """Return the latest day on or before `day` on which a report is due."""
    if kind == "weekly":
        return day - (day + _DAY_0_WEEKDAY) % _WEEK
    return _first_of_month(day)


def next_due_day(kind: MailingKind, day: int) -> int:
    """Return the first day after `day` on which a report is due."""
    latest = due_day(kind, day)
    return latest + _WEEK if kind == "weekly" else _first_of_month(latest + _INTO_NEXT_MONTH)


def period_due(kind: MailingKind, day: int) -> ReportPeriod:
    """Return the period of the report that is due on `day`, which must be a Monday or the first of a month."""
    first = due_day(kind, day - 1)
    return ReportPeriod(kind, first, day - 1, due_day(kind, first - 1))


def _first_of_month(day: int) -> int:
    return date.fromordinal(_DAY_0 + day).replace(day=1).toordinal() - _DAY_0
