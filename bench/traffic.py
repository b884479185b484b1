"""Synthetic traffic of a site: views per hour with days, weeks, growth, holidays and clock changes. No I/O."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from svc.clock import DAY_MS, HOUR_MS, day_number

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

# The first simulated day: a Monday, eight weeks before the year for which alerts are counted.
FIRST_DAY = day_number("2024-11-04")
YEAR_FROM = (FIRST_DAY + 56) * DAY_MS
YEAR_TO = YEAR_FROM + 365 * DAY_MS
_WEEKEND = (5, 6)
_BUSIEST_HOUR = 15
# Public holidays, as days of the year, including the two days after Christmas. Most countries have about as many.
HOLIDAYS = frozenset({1, 6, 108, 111, 121, 149, 160, 227, 276, 358, 359, 360, 365})
_SUMMER_TIME = range(day_number("2025-03-30"), day_number("2025-10-26"))
# Above this mean, a normal distribution approximates the Poisson distribution.
_LARGE_MEAN = 60


@dataclass(frozen=True)
class Traffic:
    """The traffic of a site. `mean`: views per hour in the first week.

    `day`: how much an hour differs from the day's mean (0 to 1). `weekend`, `holiday`: the traffic on these days, as a
    share of the usual traffic. `growth`: the growth per year (1 doubles the traffic). `dispersion`, `day_dispersion`:
    how much more an hour and a whole day vary than in a Poisson distribution. `offset`: the difference between local
    time in winter and UTC, in hours.
    """

    mean: float
    day: float = 0.8
    weekend: float = 0.7
    holiday: float = 0.5
    growth: float = 0.3
    dispersion: float = 0.05
    day_dispersion: float = 0.01
    offset: int = 1

    def expected(self, at: int) -> float:
        """Return the expected views in the hour that begins at `at` (epoch ms), without random variation."""
        utc_day = at // DAY_MS
        local = at + (self.offset + (utc_day in _SUMMER_TIME)) * HOUR_MS
        day, hour = local // DAY_MS, local // HOUR_MS % 24
        rate = self.mean * (1 + self.day * math.cos((hour - _BUSIEST_HOUR) * math.pi / 12))
        if (day - FIRST_DAY) % 7 in _WEEKEND:
            rate *= self.weekend
        elif (day - YEAR_FROM // DAY_MS) % 365 + 1 in HOLIDAYS:
            rate *= self.holiday
        return rate * math.pow(1 + self.growth, (day - FIRST_DAY) / 365)

    def hours(self, chance: random.Random, from_ms: int = FIRST_DAY * DAY_MS, to_ms: int = YEAR_TO) -> dict[int, int]:
        """Return random views by start of the hour. Hours without views are absent, as in the store."""
        return dict(self._hours(chance, from_ms, to_ms))

    def _hours(self, chance: random.Random, from_ms: int, to_ms: int) -> Iterator[tuple[int, int]]:
        factor = 1.0
        for at in range(from_ms, to_ms, HOUR_MS):
            if at % DAY_MS == 0:
                factor = _varied(chance, 1.0, self.day_dispersion)
            views = _poisson(chance, _varied(chance, factor * self.expected(at), self.dispersion))
            if views:
                yield at, views


def _varied(chance: random.Random, mean: float, dispersion: float) -> float:
    """Return a random number with this mean from a gamma distribution.

    If this number is the mean of a Poisson distribution, the counts have a negative binomial distribution.
    """
    if dispersion <= 0 or mean <= 0:
        return mean
    return chance.gammavariate(1 / dispersion, mean * dispersion)


def _poisson(chance: random.Random, mean: float) -> int:
    if mean > _LARGE_MEAN:
        return max(0, round(chance.gauss(mean, math.sqrt(mean))))
    limit, product, count = math.exp(-mean), chance.random(), 0
    while product > limit:
        product *= chance.random()
        count += 1
    return count


# Sites of several sizes and kinds, for which `bench.alerts` simulates years.
STEADY = {
    "0.5 views an hour": Traffic(0.5),
    "3 views an hour": Traffic(3),
    "20 views an hour": Traffic(20),
    "20 views an hour, bursts": Traffic(20, dispersion=0.3, day_dispersion=0.05),
    "20 views an hour, mostly on working days": Traffic(20, day=0.95, weekend=0.15, holiday=0.12),
    "200 views an hour": Traffic(200),
    "200 views an hour, mostly on working days": Traffic(200, day=0.95, weekend=0.15, holiday=0.12),
    "200 views an hour, growing fourfold": Traffic(200, growth=3, offset=-5),
    "2,000 views an hour, quiet holidays": Traffic(2_000, holiday=0.35, offset=9),
    "2,000 views an hour, bursts": Traffic(2_000, dispersion=0.3, day_dispersion=0.05),
}
