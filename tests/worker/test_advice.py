"""Tests of the plan usage advice. Each usage history has a known result."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc.clock import DAY_MS
from svc.model import Figure
from svc.worker.advice import LIMITS, advise

TODAY = 20_000
NOW = TODAY * DAY_MS + 5 * 3_600_000
LEVELS = ["ok", "watch", "upgrade_soon", "over"]
MB = 1_000_000
RHYTHM = [1.0, 1.1, 1.2, 1.1, 0.9, 0.4, 0.3]


def days(values):
    """Return figures for consecutive days. The last day is yesterday. None means that the day has no figure."""
    first = TODAY - len(values)
    return [Figure.exact(first + n, value) for n, value in enumerate(values) if value is not None]


def low_usage(**figures):
    nothing = days([0] * 28)
    return {"requests": nothing, "writes": nothing, "reads": nothing, "size": days([MB] * 28), **figures}


def advice(*, size=MB, plan="free", connected=TODAY - 100, **figures):
    return advise(low_usage(**figures), size, plan, connected, NOW)


def of_requests(values, **more):
    return advice(requests=days(values), **more).metrics["requests"]


@pytest.mark.rule("A24")
def test_low_usage_is_ok():
    found = advice(requests=days([1_000, 2_000, 1_500, 900, 3_000, 1_000, 1_000]))
    assert (found.level, found.metric, found.unavailable, found.suggest, found.at) == ("ok", None, (), None, NOW)
    assert list(found.metrics) == ["requests", "writes", "reads", "size"]
    requests = found.metrics["requests"]
    assert (requests.level, requests.limit, requests.forecast) == ("ok", 100_000, None)
    assert (requests.busiest, requests.busiest_day) == (3_000, TODAY - 3)
    assert (found.metrics["reads"].busiest, found.metrics["reads"].busiest_day) == (0, None)


@pytest.mark.rule("A24")
@pytest.mark.parametrize(
    ("busiest", "level"),
    [(59_999, "ok"), (60_000, "watch"), (79_999, "watch"), (80_000, "upgrade_soon"), (99_999, "upgrade_soon"),
     (100_000, "over"), (250_000, "over")],
)  # fmt: skip
def test_level_follows_the_busiest_of_seven_complete_days(busiest, level):
    assert of_requests([100_000, 10, busiest, 10, 10, 10, 10, 10]).level == level
    # Only the seven days before today count.
    assert of_requests([busiest, 10, 10, 10, 10, 10, 10, 10]).level == "ok"
    running = [*days([10] * 7), Figure.exact(TODAY, busiest)]
    assert advice(requests=running).metrics["requests"].level == "ok"


@pytest.mark.rule("A24")
@pytest.mark.parametrize(
    ("size_mb", "level"), [(299, "ok"), (300, "watch"), (399, "watch"), (400, "over"), (500, "over"), (512, "over")]
)
def test_database_is_over_at_its_full_threshold(size_mb, level):
    found = advice(size=size_mb * MB)
    assert (found.level, found.metrics["size"].limit) == (level, 500 * MB)
    assert (found.metrics["size"].busiest, found.metrics["size"].busiest_day) == (size_mb * MB, TODAY)
    assert found.suggest == (None if level == "ok" else "shorter_hourly_retention")


@pytest.mark.rule("A24")
def test_shorter_retention_is_suggested_only_if_size_is_the_only_problem():
    found = advice(size=450 * MB, writes=days([70_000] * 7))
    assert (found.level, found.metric, found.suggest) == ("over", "size", None)
    # without figures, the number of writes could also be close to its limit
    assert advice(size=450 * MB, writes=None).suggest is None


@pytest.mark.rule("A24")
def test_metric_closest_to_its_limit_determines_the_level():
    found = advice(requests=days([61_000] * 7), writes=days([70_000] * 7), reads=days([4_900_000] * 7))
    assert (found.level, found.metric) == ("upgrade_soon", "reads")
    assert advice(requests=days([61_000] * 7), writes=days([70_000] * 7)).metric == "writes"


@pytest.mark.rule("A24")
@pytest.mark.parametrize("known", [14, 21, 28])
@pytest.mark.parametrize("left", [0, 3, 7, 8, 30])
def test_forecast_of_linear_growth_is_exact(known, left):
    values = [100_000 - 1_000 * (left + ago) for ago in range(known, 0, -1)]
    assert of_requests(values).forecast == TODAY + left


@pytest.mark.rule("A24")
@pytest.mark.parametrize(
    ("left", "step", "level"),
    [
        (4, 4_100, "upgrade_soon"),
        (7, 3_000, "upgrade_soon"),
        (8, 3_000, "watch"),
        (30, 1_300, "watch"),
        (31, 1_300, "ok"),
    ],
)
def test_forecast_within_a_week_is_worse_than_within_a_month(left, step, level):
    found = of_requests([100_000 - step * (left + ago) for ago in range(18 if left < 9 else 28, 0, -1)])
    # the usage is below the threshold of this level, so the forecast has determined the level
    assert found.busiest < (60_000 if left > 8 else 80_000)
    assert (found.forecast, found.level) == (TODAY + left if left <= 30 else None, level)


@pytest.mark.rule("A24")
def test_no_forecast_beyond_thirty_days():
    assert of_requests([100_000 - 1_000 * (31 + ago) for ago in range(28, 0, -1)]).forecast is None
    assert of_requests([50_000 + ago for ago in range(28)]).level == "ok"


@pytest.mark.rule("A24")
@pytest.mark.parametrize("weeks", [2, 3, 4])
@pytest.mark.parametrize("shift", range(7))
def test_weekly_pattern_is_not_a_trend(weeks, shift):
    rhythm = RHYTHM[shift:] + RHYTHM[:shift]
    found = of_requests([round(45_000 * part) for part in rhythm * weeks])
    assert (found.level, found.forecast) == ("ok", None)


@pytest.mark.rule("A24")
def test_growing_weekly_pattern_reaches_the_limit_on_a_busy_day():
    def use(ago):
        return round((55_000 - 1_000 * ago) + 20_000 * (RHYTHM[(TODAY - ago) % 7] - 1))

    found = of_requests([use(ago) for ago in range(28, 0, -1)])
    wanted = next(TODAY + ahead for ahead in range(60) if use(-ahead) >= 100_000)
    assert found.forecast == wanted > TODAY + 30 or found.forecast is None
    nearer = [use(ago) + 25_000 for ago in range(28, 0, -1)]
    wanted = next(TODAY + ahead for ahead in range(31) if use(-ahead) + 25_000 >= 100_000)
    assert of_requests(nearer).forecast == wanted


@pytest.mark.rule("A24")
@pytest.mark.parametrize("at", range(28))
def test_single_peak_is_not_a_trend(at):
    values = [30_000] * 28
    values[at] = 95_000
    found = of_requests(values)
    assert found.forecast is None
    assert found.level == ("upgrade_soon" if at >= 21 else "ok")


@pytest.mark.rule("A24")
@pytest.mark.parametrize("at", range(28))
def test_single_peak_does_not_change_the_forecast(at):
    values = [100_000 - 1_500 * (15 + ago) for ago in range(28, 0, -1)]
    values[at] *= 4
    assert abs((of_requests(values).forecast or 0) - (TODAY + 15)) <= 1


@pytest.mark.rule("A24")
@pytest.mark.parametrize("holes", [{3}, {0, 9, 26}, {5, 6, 7, 8, 9, 10}, set(range(0, 28, 3))])
def test_unknown_days_are_not_zero(holes):
    values = [None if n in holes else 100_000 - 1_000 * (12 + 28 - n) for n in range(28)]
    found = advice(requests=days(values))
    assert found.metrics["requests"].forecast == TODAY + 12
    assert found.unavailable == (("analytics",) if any(n >= 21 for n in holes) else ())


@pytest.mark.rule("A24")
@pytest.mark.parametrize(
    "values",
    [[40_000] * 28, [60_000 - 1_500 * n for n in range(28)], [0] * 28, [55_000, 10_000] * 14, [99_000] * 28],
    ids=["flat", "decline", "nothing", "to and fro", "flat, just below the limit"],
)
def test_no_forecast_without_growth(values):
    assert of_requests(values).forecast is None


@pytest.mark.rule("A24")
def test_noise_rarely_has_a_forecast():
    """In 2.5% of months with random usage (10 of 400), Kendall's test finds a trend that does not exist. These
    trends have a small slope.
    """
    rng = random.Random(24)
    noisy = [[rng.randrange(20_000, 50_000) for _ in range(28)] for _ in range(400)]
    assert sum(of_requests(values).forecast is not None for values in noisy) <= 10


@pytest.mark.rule("A24")
@pytest.mark.parametrize("known", range(14))
def test_no_forecast_with_less_than_two_weeks(known):
    rising = [5_000 * n for n in range(1, known + 1)]
    assert of_requests([0] * (28 - known) + rising).forecast is None


@pytest.mark.rule("A24")
def test_first_usage_is_not_growth_from_zero():
    # The account was connected two days ago, so the usage of earlier days is zero.
    found = of_requests([0] * 26 + [40_000, 41_000], connected=TODAY - 3)
    assert (found.level, found.forecast) == ("ok", None)
    # The usage increased when the service's Worker was installed in addition to the account's other Workers.
    found = of_requests([5_000] * 14 + [45_000] * 14, connected=TODAY - 15)
    assert (found.level, found.forecast) == ("ok", None)
    # The account had no usage until recently.
    assert of_requests([0] * 20 + [45_000] * 8).forecast is None


@pytest.mark.rule("A24")
def test_growing_database_has_a_forecast():
    def grown(step_mb):
        past = days([MB * (290 - step_mb * ago) for ago in range(28, 0, -1)])
        return advise(low_usage(size=past), 290 * MB, "free", TODAY - 100, NOW)

    found = grown(10)
    assert (found.level, found.metric, found.suggest) == ("watch", "size", "shorter_hourly_retention")
    assert found.metrics["size"].forecast == TODAY + 21
    assert grown(5).level == "ok"  # the remaining 210 MB last for 42 days


@pytest.mark.rule("A24")
def test_unreadable_sources_are_listed():
    found = advice(requests=None, writes=None, reads=None, size=None)
    assert (found.level, found.metric, found.metrics, found.unavailable) == (None, None, {}, ("analytics", "size"))
    found = advice(reads=None, writes=days([90_000] * 7))
    assert (found.level, found.metric, found.unavailable) == ("upgrade_soon", "writes", ("analytics",))
    assert list(found.metrics) == ["requests", "writes", "size"]
    found = advice(size=None)
    assert (found.level, found.unavailable) == ("ok", ("size",))
    assert "size" not in found.metrics


@pytest.mark.rule("A24")
def test_estimate_with_a_large_error_is_ignored():
    def estimated(value, error):
        figures = days([10_000] * 7)
        figures[3] = Figure(figures[3].day, value, value - error, value + error)
        return advice(requests=figures)

    found = estimated(70_000, 5_000)
    assert (found.level, found.unavailable) == ("watch", ())
    found = estimated(70_000, 5_001)
    assert (found.level, found.unavailable) == ("ok", ("analytics",))
    assert found.metrics["requests"].busiest == 10_000
    # the negative error swaps the bounds of the interval, so the figure is invalid
    assert estimated(70_000, -5_000).unavailable == ("analytics",)
    # The level is "over" only if the limit was certainly reached.
    assert estimated(101_000, 2_000).level == "upgrade_soon"
    assert estimated(102_000, 2_000).level == "over"


@pytest.mark.rule("A24")
def test_paid_plan_has_only_a_size_limit():
    found = advice(plan="paid", requests=days([900_000] * 7), writes=None, reads=None, size=450 * MB)
    assert (found.level, list(found.metrics), found.unavailable) == ("ok", ["size"], ())
    assert found.metrics["size"].limit == 10_000 * MB
    assert advice(plan="paid", size=8_000 * MB).level == "upgrade_soon"
    assert advice(plan="paid", size=10_000 * MB).level == "over"


values = st.lists(st.one_of(st.none(), st.integers(0, 150_000)), min_size=0, max_size=30)


@pytest.mark.rule("A24")
@given(values, st.randoms(use_true_random=False))
def test_order_of_days_does_not_matter(usage, rng):
    figures = days(usage)
    shuffled = [*figures]
    rng.shuffle(shuffled)
    assert advice(requests=figures) == advice(requests=shuffled)


@pytest.mark.rule("A24")
@given(st.lists(st.integers(0, 150_000), min_size=7, max_size=28), st.integers(1, 4), st.integers(0, 50_000))
def test_more_usage_on_every_day_never_lowers_the_level(usage, factor, more):
    def level(values):
        return LEVELS.index(of_requests(values).level)

    assert level([value * factor for value in usage]) >= level(usage)
    # Make sure that all days have usage, because days before the first usage are not part of a trend.
    used = [value + 1 for value in usage]
    assert level([value + more for value in used]) >= level(used)


@pytest.mark.rule("A24")
@given(st.lists(st.integers(0, 99_999), min_size=7, max_size=13), st.integers(0, 6), st.integers(1, 100_000))
def test_more_usage_on_one_day_never_lowers_the_level(usage, ago, more):
    level = of_requests(usage).level
    usage[-1 - ago] += more
    assert LEVELS.index(of_requests(usage).level) >= LEVELS.index(level)


@pytest.mark.rule("A24")
@given(st.lists(st.integers(0, 150_000), min_size=7, max_size=28))
def test_only_the_ratio_to_the_limit_matters(usage):
    """The read limit is fifty times the request limit, so fifty times the usage results in the same advice."""
    requests = of_requests(usage)
    reads = advice(reads=days([value * 50 for value in usage])).metrics["reads"]
    assert LIMITS["free"]["reads"].limit == 50 * requests.limit
    assert reads == replace(requests, limit=requests.limit * 50, busiest=requests.busiest * 50)
