"""A Cloudflare account's plan usage: a level for each limit, and a forecast of when the limit is reached. No I/O.

Days without a figure, or with an imprecise estimate, are ignored; all other days are *known*. If a metric has no known
day, the metric is omitted. `unavailable` names the sources that could not be read.

The forecast is a seasonal Kendall trend with weekdays as the seasons (R. M. Hirsch, J. R. Slack, R. A. Smith,
Techniques of trend analysis for monthly water quality data, Water Resources Research 18, 1982). The method compares
each day only with the same weekday in other weeks, so that a weekly pattern does not count as a trend. Kendall's test
over these pairs (two-sided, 5%, corrected for ties) decides whether usage is growing. The rate of growth is the median
of the pairs' slopes (P. K. Sen, Estimates of the regression coefficient based on Kendall's tau, Journal of the American
Statistical Association 63, 1968). A single peak, missing day or outlier hardly affects the median. The forecast extends
the values of each weekday at this rate. It requires 14 known days. The trend begins with the first day that has usage
after the account was connected.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import TYPE_CHECKING, get_args

from svc.clock import day_of
from svc.model import Advice, AdviceLevel, EdgePlan, Figure, Measured, Metric

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from svc.model import Unread

DAYS = 7  # number of complete UTC days that determine the levels
FORECAST_DAYS = 30
_SOON_DAYS = 7
_FEWEST_DAYS = 14  # two days for each weekday
_WEEK = 7
_GROWS = 1.96  # threshold of the test, in standard deviations of Kendall's score; this is 5%, two-sided
# The maximum width of an estimate's 95% interval, as a fraction of the limit. A wider interval could lead to a wrong
# level.
_WIDEST_ESTIMATE = 0.1
_LEVELS: tuple[AdviceLevel, ...] = get_args(AdviceLevel)


@dataclass(frozen=True)
class Limit:
    """A limit of a plan.

    `full`: the value at which the limit counts as reached. For the size of a database on the free plan, this value is
    lower than the limit itself, to leave a reserve.
    """

    limit: int
    full: int


# The limits of Cloudflare's plans (Cloudflare docs of 2026: workers/platform/limits, d1/platform/limits,
# d1/platform/pricing). Paid plans have no daily limits, but Cloudflare bills usage above the monthly allowance.
LIMITS: Mapping[EdgePlan, Mapping[Metric, Limit]] = {
    "free": {
        "requests": Limit(100_000, full=100_000),
        "writes": Limit(100_000, full=100_000),
        "reads": Limit(5_000_000, full=5_000_000),
        "size": Limit(500_000_000, full=400_000_000),
    },
    "paid": {"size": Limit(10_000_000_000, full=10_000_000_000)},
}


def advise(
    figures: Mapping[Metric, Sequence[Figure] | None],
    size_bytes: int | None,
    plan: EdgePlan,
    connected_day: int,
    now: int,
) -> Advice:
    """Return the advice as of `now` (epoch ms).

    `figures`: for each metric, Cloudflare's daily figures in any order, or None if they could not be read. The metric
    `size` is the size of the Worker's database. `size_bytes`: the current size of this database, or None if it could
    not be read. `connected_day`: the day (day number) on which the account was connected.
    """
    today = day_of(now)
    metrics: dict[Metric, Measured] = {}
    unavailable: set[Unread] = set()
    for metric, limit in LIMITS[plan].items():
        reported = figures.get(metric)
        known = _known(reported or (), limit)
        if metric == "size":
            if size_bytes is None:
                unavailable.add("size")
                continue
            if reported is None:
                unavailable.add("analytics")
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
    level = max((usage.level for usage in metrics.values()), key=_LEVELS.index, default=None)
    worst = [name for name, usage in metrics.items() if usage.level == level != "ok"]
    deciding = max(worst, key=lambda name: metrics[name].busiest / metrics[name].limit, default=None)
    size_alone = [name for name, usage in metrics.items() if usage.level != "ok"] == ["size"]
    return Advice(
        at=now,
        level=level,
        metric=deciding,
        metrics=metrics,
        unavailable=tuple(sorted(unavailable)),
        suggest="shorter_hourly_retention" if size_alone and not unavailable else None,
    )


def _known(figures: Iterable[Figure], limit: Limit) -> dict[int, Figure]:
    """Return the figures that are precise enough to be compared with this limit, by day."""
    widest = _WIDEST_ESTIMATE * limit.limit
    return {
        figure.day: figure
        for figure in figures
        if figure.at_least <= figure.value <= figure.at_most and figure.at_most - figure.at_least <= widest
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


def forecast_day(values: Mapping[int, int], limit: int, today: int) -> int | None:
    """Return the first day, from today to 30 days from now, on which the trend reaches the limit, or None.

    `values`: the known values by day number.
    """
    if len(values) < _FEWEST_DAYS:
        return None
    weekdays: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for day, value in sorted(values.items()):
        weekdays[day % _WEEK].append((day, value))
    pairs = [
        (last - first, later - earlier)
        for same in weekdays.values()
        for (first, earlier), (last, later) in combinations(same, 2)
    ]
    score = sum((rise > 0) - (rise < 0) for _, rise in pairs)
    slope = median(rise / days for days, rise in pairs)
    if slope <= 0 or score - 1 <= _GROWS * math.sqrt(sum(map(_variance, weekdays.values()))):
        return None
    for day in range(today, today + FORECAST_DAYS + 1):
        same = weekdays[day % _WEEK]
        if same and median(value + slope * (day - known) for known, value in same) >= limit * (1 - 1e-9):
            return day
    return None


def _variance(same: Sequence[tuple[int, int]]) -> float:
    """Return the variance of Kendall's score for one weekday, corrected for ties."""
    ties = Counter(value for _, value in same).values()
    return (_term(len(same)) - sum(map(_term, ties))) / 18


def _term(size: int) -> int:
    return size * (size - 1) * (2 * size + 5)
