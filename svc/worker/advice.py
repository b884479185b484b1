"""How near an account is to the limits of its plan at the edge platform, and when it will reach one. Pure.

What is not known is not guessed: a day that the platform does not tell, or of which it tells too rough an estimate, is
left out, and a metric without a known day is not there. What could not be read is named in `unavailable`.

The forecast is a seasonal Kendall trend (R. M. Hirsch, J. R. Slack, R. A. Smith, Techniques of trend analysis for
monthly water quality data, Water Resources Research 18, 1982), with weekdays as the seasons: each day is compared only
with the same weekday of other weeks, so the rhythm of a week is no trend. Whether the use grows at all, Kendall's test
over those pairs tells (two-sided, 5 %, corrected for ties); how fast, the median of their slopes (P. K. Sen, Estimates
of the regression coefficient based on Kendall's tau, Journal of the American Statistical Association 63, 1968), which
no peak, hole or outlier moves. From there each weekday goes on from its own median. It takes 14 known days; the day on
which the account was connected, those before it, and those before the first use are in no trend.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import TYPE_CHECKING, get_args

from svc.clock import day_of
from svc.model import Advice, AdviceLevel, EdgePlan, Measured, Metric

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from svc.model import Unread

DAYS = 7  # complete UTC days that the levels are about
FORECAST_DAYS = 30
_SOON_DAYS = 7
_FEWEST_DAYS = 14  # two of every weekday
_WEEK = 7
_GROWS = 1.96  # standard deviations of Kendall's score: two-sided, 5 %
# An estimate counts when its 95 % interval is no wider than this part of the limit: no level hangs on its error.
_WIDEST_ESTIMATE = 0.1
_LEVELS: tuple[AdviceLevel, ...] = get_args(AdviceLevel)


@dataclass(frozen=True)
class Limit:
    """A limit of a plan. `full`: from where on it counts as reached; less than the limit itself for a database."""

    limit: int
    full: int


def _daily(limit: int) -> Limit:
    return Limit(limit, limit)


# Platform docs of 2026: workers/platform/limits, d1/platform/limits, d1/platform/pricing. A paid plan has no daily
# limits: what is used past what a month includes is paid for, and nothing stops.
LIMITS: Mapping[EdgePlan, Mapping[Metric, Limit]] = {
    "free": {
        "requests": _daily(100_000),
        "writes": _daily(100_000),
        "reads": _daily(5_000_000),
        "size": Limit(500_000_000, full=400_000_000),
    },
    "paid": {"size": Limit(10_000_000_000, full=10_000_000_000)},
}


@dataclass(frozen=True)
class Figure:
    """What the platform tells of one UTC day. Where it has only looked at a sample, the true value lies between
    `at_least` and `at_most` in 95 of 100 cases; else all three are equal."""

    day: int
    value: int
    at_least: int
    at_most: int

    @classmethod
    def exact(cls, day: int, value: int) -> Figure:
        """A figure that is no estimate."""
        return cls(day, value, value, value)


def advise(
    figures: Mapping[Metric, Sequence[Figure] | None],
    size_bytes: int | None,
    plan: EdgePlan,
    connected_day: int,
    now: int,
) -> Advice:
    """The advice as of `now` (epoch ms).

    `figures`: of each metric the days that the platform tells, in any order; of `size` the worker's database. None:
    they could not be read. `size_bytes`: how large the database is now. `connected_day`: when the account came to us.
    """
    today = day_of(now)
    metrics: dict[Metric, Measured] = {}
    unavailable: set[Unread] = set()
    for metric, limit in LIMITS[plan].items():
        told = figures.get(metric)
        known = _known(told or (), limit)
        if metric == "size":
            if size_bytes is None:
                unavailable.add("size")
                continue
            if told is None:
                unavailable.add("analytics")
            # A size that was measured on a day of the past is that day's, whatever came before it.
            newest = Figure.exact(today, size_bytes)
            trend = {**{day: figure.value for day, figure in known.items()}, today: size_bytes}
            metrics[metric] = _measured(limit, {today: newest}, trend, today)
            continue
        last = {day: known[day] for day in range(today - DAYS, today) if day in known}
        if len(last) < DAYS:
            unavailable.add("analytics")
        if last:
            trend = _since_first_use(known, connected_day + 1, today)
            metrics[metric] = _measured(limit, last, trend, today)
    level = max((one.level for one in metrics.values()), key=_LEVELS.index, default=None)
    return Advice(
        at=now,
        level=level,
        metric=None if level in (None, "ok") else _deciding(metrics, level),
        metrics=metrics,
        unavailable=tuple(sorted(unavailable)),
        suggest="shorter_hourly_retention" if _size_alone(metrics) and not unavailable else None,
    )


def _known(told: Iterable[Figure], limit: Limit) -> dict[int, Figure]:
    """By their days, the figures that are exact enough to say something about this limit."""
    widest = _WIDEST_ESTIMATE * limit.limit
    return {
        one.day: one
        for one in told
        if one.at_least <= one.value <= one.at_most and one.at_most - one.at_least <= widest
    }


def _since_first_use(known: Mapping[int, Figure], first_day: int, today: int) -> dict[int, int]:
    used = [day for day, figure in known.items() if figure.value]
    begin = max(first_day, min(used, default=today))
    return {day: figure.value for day, figure in known.items() if begin <= day < today}


def _measured(limit: Limit, last: Mapping[int, Figure], trend: Mapping[int, int], today: int) -> Measured:
    busiest = max(last.values(), key=lambda figure: (figure.value, figure.day))
    reached = any(figure.at_least >= limit.full for figure in last.values())
    forecast = forecast_day(trend, limit.limit, today)
    return Measured(
        level=_level(busiest.value / limit.limit, forecast, today, reached=reached),
        limit=limit.limit,
        busiest=busiest.value,
        busiest_day=busiest.day if busiest.value else None,
        forecast=forecast,
    )


def _level(part: float, forecast: int | None, today: int, *, reached: bool) -> AdviceLevel:
    if reached:
        return "over"
    if part >= 0.8 or (forecast is not None and forecast - today <= _SOON_DAYS):
        return "upgrade_soon"
    return "watch" if part >= 0.6 or forecast is not None else "ok"


def _deciding(metrics: Mapping[Metric, Measured], level: AdviceLevel | None) -> Metric:
    """Of those at the worst level the one nearest to its limit; the first of two that are as near."""
    worst = [name for name, one in metrics.items() if one.level == level]
    return max(worst, key=lambda name: metrics[name].busiest / metrics[name].limit)


def _size_alone(metrics: Mapping[Metric, Measured]) -> bool:
    return [name for name, one in metrics.items() if one.level != "ok"] == ["size"]


def forecast_day(values: Mapping[int, int], limit: int, today: int) -> int | None:
    """The first day, from `today` to 30 days later, on which the trend of `values` reaches the limit; None: none.

    `values`: by their days; a day that is not there is not known.
    """
    if len(values) < _FEWEST_DAYS:
        return None
    weekdays: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for day, value in sorted(values.items()):
        weekdays[day % _WEEK].append((day - today, value))  # small numbers: the sums below stay exact
    if not _grows(weekdays.values()):
        return None
    slope = median(
        (later - earlier) / (last - first)
        for same in weekdays.values()
        for (first, earlier), (last, later) in combinations(same, 2)
    )
    begin = {weekday: median(value - slope * day for day, value in same) for weekday, same in weekdays.items()}
    for ahead in range(FORECAST_DAYS + 1):
        weekday = (today + ahead) % _WEEK
        if slope > 0 and weekday in begin and begin[weekday] + slope * ahead >= limit * (1 - 1e-9):
            return today + ahead
    return None


def _grows(weekdays: Iterable[Sequence[tuple[int, int]]]) -> bool:
    """Kendall's test, summed over the weekdays: more pairs rise than chance would let."""
    score = 0
    variance = 0.0
    for same in weekdays:
        score += sum((later > earlier) - (later < earlier) for (_, earlier), (_, later) in combinations(same, 2))
        variance += _pairs_variance(len(same))
        variance -= sum(_pairs_variance(ties) for ties in Counter(value for _, value in same).values())
    return variance > 0 and (score - 1) / math.sqrt(variance) > _GROWS


def _pairs_variance(count: int) -> float:
    return count * (count - 1) * (2 * count + 5) / 18
