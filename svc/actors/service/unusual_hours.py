"""Decides whether a site's views in an hour are unusual.

**Method.** An hour is compared with the same hour of the same weekday in the five weeks before. This follows the
surveillance algorithms for counts of infections: a negative binomial tail over comparable weeks with an estimated
overdispersion, and past outbreaks with less weight (Noufaily et al., "An improved algorithm for outbreak detection in
multiple surveillance systems", Statistics in Medicine 32, 2013, 1206-1222; Farrington et al., Journal of the Royal
Statistical Society A 159, 1996, 547-563).

- *Usual views*: the mean of the comparable hours. A single count above `_CAP` times their median plus `_CAP_ADDED` is
  reduced to this value, so that an earlier spike does not hide the next one.
- *Dispersion*: the method of moments over all 168 hours of the week, because five counts are too few for an estimate.
- *Spike*: the hour has at least `MIN_SPIKE` views and at least `SPIKE_TIMES` times the usual views, and the probability
  of a count this high is at most `_SPIKE_CHANCE`. The variance includes the uncertainty of the mean of five counts.
- *Too few views*: each of at least `MIN_LOW_HOURS` consecutive hours has at most `QUIET_PART` of its usual views on the
  quietest weekday. Even if these limits were the means, the probability of a sum this low would be at most
  `_LOW_CHANCE`. Public holidays resemble the quietest weekday, so they are not unusual. The alert is a *silence* if the
  hours have no views, and a *drop* otherwise.

Hours are in UTC, but traffic follows local time. When clocks change, the traffic therefore moves by an hour. For this
reason, both tests also consider the usual views of the hour before and of the hour after.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from svc.actors.service.negative_binomial import at_least, at_most
from svc.clock import DAY_MS, HOUR_MS

if TYPE_CHECKING:
    from collections.abc import Mapping, Set

    from svc.model import AlertKind

MIN_SPIKE = 30
SPIKE_TIMES = 3
MIN_LOW_HOURS = 3
QUIET_PART = 1 / 3
# The maximum number of consecutive hours that are examined for too few views. A site with fewer than about 35 views in
# this time is too small for alerts about too few views.
MAX_LOW_HOURS = 72
MAX_ALERTS_A_DAY = 2
_SPIKE_CHANCE = 1e-5
_LOW_CHANCE = 1e-5

WEEKS = 5
_WEEK = 168
WEEK_MS = _WEEK * HOUR_MS
# The time from the first compared hour to the examined hour.
PAST_MS = WEEKS * WEEK_MS + MAX_LOW_HOURS * HOUR_MS
# An hour is compared only if at least this number of its comparable hours have known counts.
_MIN_SAMPLES = 3
_CAP, _CAP_ADDED = 3, 5
# The smallest dispersion that is used, because traffic varies more in the long run than in five quiet weeks.
_MIN_DISPERSION = 0.1
# The smallest mean that the test for a spike uses, for hours with almost no usual views.
_MIN_MEAN = 1.0
# A spike has ended after this number of hours in a row with fewer than `_CALM_TIMES` times the usual views.
_CALM_HOURS, _CALM_TIMES = 6, 2
# The condition "too few views" ends when the last hours have at least this fraction of the usual views, and at least
# this number of views. With these limits, a few views by the site's owner do not end the condition.
_RECOVERED_PART, _RECOVERED_VIEWS = 0.5, 3


@dataclass(frozen=True)
class Series:
    """A site's views by start of the hour (epoch ms). An hour without an entry had no views.

    `first`: the first hour that can be compared. `end`: the end of the last hour. `unknown`: hours whose counts are not
    complete. `low_from`: only hours from this time on are examined for too few views.
    """

    views: Mapping[int, int]
    first: int
    end: int
    unknown: Set[int] = frozenset()
    low_from: int = 0

    def at(self, hour: int) -> int | None:
        """Return the views in an hour; None if they are not known."""
        if not self.first <= hour < self.end or hour in self.unknown:
            return None
        return self.views.get(hour, 0)


@dataclass(frozen=True)
class Alert:
    """An unusual number of views. `first`: the start of the first hour (epoch ms). `usual`: the usual number."""

    kind: AlertKind
    first: int
    hours: int
    views: int
    usual: float


@dataclass(frozen=True)
class Checked:
    """The state of a site after an hour was checked.

    `lasting`: the kind of the last alert whose condition has not ended. `day`, `alerts`: the day (day number) of the
    last alert, and the number of alerts on that day.
    """

    lasting: AlertKind | None = None
    day: int = 0
    alerts: int = 0


def check_hour(series: Series, hour: int, before: Checked) -> tuple[Checked, Alert | None]:
    """Return the state after the hour that begins at `hour`, and the alert to send, if any.

    Hours must be checked in order.
    """
    if series.first > hour - WEEKS * WEEK_MS or series.at(hour) is None:
        return before, None
    week = _Week(series, hour)
    alert = _spike(week, hour) or _too_few(week, hour)
    if alert is None or _is_lasting(alert.kind, before.lasting):
        return _with(before, before.lasting if alert or not _has_ended(week, hour, before.lasting) else None), None
    after = _with(before, alert.kind)
    day = hour // DAY_MS
    sent = before.alerts if before.day == day else 0
    if sent >= MAX_ALERTS_A_DAY:
        return after, None
    return Checked(alert.kind, day, sent + 1), alert


def compared_hours(hour: int) -> list[int]:
    """Return the hours whose views `is_suspect` needs, including `hour` itself."""
    last = range(hour - (MIN_LOW_HOURS - 1) * HOUR_MS, hour + HOUR_MS, HOUR_MS)
    near = range(hour - MIN_LOW_HOURS * HOUR_MS, hour + 2 * HOUR_MS, HOUR_MS)
    return [*last, *(each - weeks * WEEK_MS for each in near for weeks in range(1, WEEKS + 1))]


def is_suspect(series: Series, hour: int) -> bool:
    """Return True if `check_hour` can return an alert for this hour.

    It needs only the views of `compared_hours`, so that most hours of most sites are checked with few reads.
    """
    views = series.at(hour) or 0
    if views >= MIN_SPIKE and views >= SPIKE_TIMES * (_highest(series, hour) or 0):
        return True
    for each in range(hour - (MIN_LOW_HOURS - 1) * HOUR_MS, hour + HOUR_MS, HOUR_MS):
        known = series.at(each)
        if known is None or each < series.low_from or known > QUIET_PART * (_mean(series, each) or 0):
            return False
    return True


def _samples(series: Series, hour: int) -> list[int]:
    """Return the views in the comparable hours, in ascending order. High counts are reduced."""
    known = sorted(views for weeks in range(1, WEEKS + 1) if (views := series.at(hour - weeks * WEEK_MS)) is not None)
    if len(known) < _MIN_SAMPLES:
        return []
    cap = _CAP * known[len(known) // 2] + _CAP_ADDED
    return [min(views, cap) for views in known]


def _mean(series: Series, hour: int) -> float | None:
    samples = _samples(series, hour)
    return sum(samples) / len(samples) if samples else None


def _highest(series: Series, hour: int) -> float | None:
    """Return the highest of the usual views of an hour and its two neighboring hours; None if none are known."""
    near = [_mean(series, hour + each * HOUR_MS) for each in (-1, 0, 1)]
    return max((each for each in near if each is not None), default=None)


@dataclass
class _Week:
    """The usual views in each hour of the week, estimated from the five weeks before `hour`."""

    series: Series
    hour: int
    dispersion: float = _MIN_DISPERSION
    _usual: dict[int, float] = field(default_factory=dict)
    _quiet: list[float | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Estimate the dispersion and the usual views from the five weeks before the hour."""
        excess = square = 0.0
        for back in range(_WEEK):
            hour = self.hour - back * HOUR_MS
            samples = _samples(self.series, hour)
            if not samples:
                continue
            n = len(samples)
            mean = sum(samples) / n
            variance = sum((each - mean) ** 2 for each in samples) / (n - 1)
            excess += variance - mean
            square += mean * mean - variance / n
            self._usual[hour // HOUR_MS % _WEEK] = mean
        if square > 0:
            self.dispersion = max(_MIN_DISPERSION, excess / square)
        self._quiet = [self._quietest(hour) for hour in range(24)]

    def usual(self, hour: int) -> float | None:
        """Return the usual views of an hour; None if too few of the comparable hours are known."""
        return self._usual.get(hour // HOUR_MS % _WEEK)

    def quiet(self, hour: int) -> float | None:
        """Return the maximum views of a quiet hour; None if the usual views of a comparable hour are unknown."""
        quietest = self._quiet[hour // HOUR_MS % 24]
        return None if quietest is None else QUIET_PART * quietest

    def _quietest(self, hour_of_day: int) -> float | None:
        slots = [self._usual.get((hour_of_day + 24 * day + each) % _WEEK) for day in range(7) for each in (-1, 0, 1)]
        known = [each for each in slots if each is not None]
        return min(known) if len(known) == len(slots) else None


def _spike(week: _Week, hour: int) -> Alert | None:
    views, usual, most = week.series.at(hour), week.usual(hour), _highest(week.series, hour)
    if views is None or usual is None or most is None or views < max(MIN_SPIKE, SPIKE_TIMES * most):
        return None
    mean = max(most, _MIN_MEAN)
    predicted = week.dispersion * (1 + 1 / WEEKS) + 1 / (WEEKS * mean)
    if at_least(views, mean, predicted) > _SPIKE_CHANCE:
        return None
    return Alert("spike", hour, 1, views, usual)


def _too_few(week: _Week, hour: int) -> Alert | None:
    """Return an alert about the quiet hours up to and including this hour, or None if there is nothing to report.

    If this hour has views, the alert is a drop. Otherwise, it is a silence, and covers only hours without views.
    """
    series, found = week.series, 0
    silent = series.at(hour) == 0
    mean = variance = usual = 0.0
    for hours in range(1, MAX_LOW_HOURS + 1):
        each = hour - (hours - 1) * HOUR_MS
        views, quiet, expected = series.at(each), week.quiet(each), week.usual(each)
        is_low = views is not None and quiet is not None and (views == 0 if silent else views <= quiet)
        if not is_low or each < series.low_from or views is None or quiet is None or expected is None:
            return None
        found += views
        usual += expected
        mean += quiet
        variance += quiet + week.dispersion * quiet * quiet
        # A sum of independent counts is approximated by the distribution with the same mean and variance.
        if hours >= MIN_LOW_HOURS and mean > 0:
            dispersion = (variance - mean) / (mean * mean)
            if at_most(found, mean, dispersion) <= _LOW_CHANCE:
                return Alert("silence" if silent else "drop", each, hours, found, usual)
    return None


def _is_lasting(kind: AlertKind, lasting: AlertKind | None) -> bool:
    """Return True if the last alert already covers an alert of this kind."""
    return kind == lasting or (kind == "drop" and lasting == "silence")


def _has_ended(week: _Week, hour: int, lasting: AlertKind | None) -> bool:
    series = week.series
    if lasting == "spike":
        for each in range(hour - (_CALM_HOURS - 1) * HOUR_MS, hour + HOUR_MS, HOUR_MS):
            views = series.at(each)
            if views is None or views >= max(MIN_SPIKE, _CALM_TIMES * (_highest(series, each) or 0)):
                return False
        return True
    last = range(hour - (MIN_LOW_HOURS - 1) * HOUR_MS, hour + HOUR_MS, HOUR_MS)
    views = sum(series.at(each) or 0 for each in last)
    usual = sum(week.usual(each) or 0 for each in last)
    return views >= max(_RECOVERED_VIEWS, _RECOVERED_PART * usual)


def _with(before: Checked, lasting: AlertKind | None) -> Checked:
    return before if before.lasting == lasting else Checked(lasting, before.day, before.alerts)
