"""Advice about an account's plan at Cloudflare, and the figures that it is based on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

# Advice that a user can follow by changing an account setting: keep fewer days, or fewer months.
Suggestion = Literal["shorter_hourly_retention", "shorter_month_retention"]
Metric = Literal["requests", "writes", "reads", "size"]
AdviceLevel = Literal["ok", "watch", "upgrade_soon", "over"]  # in ascending order of severity
Unread = Literal["analytics", "size"]  # data sources that could not be read when the advice was computed


@dataclass(frozen=True)
class Figure:
    """Cloudflare's count or estimate for one UTC day.

    For an estimate, `at_least` and `at_most` are the bounds of its 95% confidence interval. For a count, all three
    numbers are equal.
    """

    day: int
    value: int
    at_least: int
    at_most: int

    @classmethod
    def exact(cls, day: int, value: int) -> Figure:
        """Return the figure for a count, which has no confidence interval."""
        return cls(day, value, value, value)


@dataclass(frozen=True)
class Measured:
    """One metric of an account compared with its limit: usage per day, or the size of the Worker's database in bytes.

    `busiest`: the highest daily usage, or the size when it was last read.
    `busiest_day`: the day of that usage or reading; None if there was no usage.
    `forecast`: the day on which the trend reaches the limit; None if it does not within 30 days.
    """

    level: AdviceLevel
    limit: int
    busiest: int
    busiest_day: int | None
    forecast: int | None


@dataclass(frozen=True)
class Advice:
    """An account's usage compared with the limits of its Cloudflare plan (see svc/worker/advice.py).

    Stored as JSON by field name, so new fields need a default.
    """

    at: int
    level: AdviceLevel | None  # None: no metric could be read
    metric: Metric | None = None  # the metric that determines the level; None if the level is ok or None
    metrics: Mapping[Metric, Measured] = field(default_factory=dict)  # only metrics that could be read
    unavailable: tuple[Unread, ...] = ()
    suggest: Suggestion | None = None  # set if only the size is a problem; see Account.suggestion for the setting
