"""The advice, on histories whose answer is known."""

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
    """Figures of the days up to yesterday, the last of `values`; None: a day that is not told."""
    first = TODAY - len(values)
    return [Figure.exact(first + n, value) for n, value in enumerate(values) if value is not None]


def quiet(**figures):
    nothing = days([0] * 28)
    return {"requests": nothing, "writes": nothing, "reads": nothing, "size": days([MB] * 28), **figures}


def advice(*, size=MB, plan="free", connected=TODAY - 100, **figures):
    return advise(quiet(**figures), size, plan, connected, NOW)


def of_requests(values, **more):
    return advice(requests=days(values), **more).metrics["requests"]


@pytest.mark.rule("A24")
def test_an_account_that_uses_little_is_well():
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
def test_the_busiest_of_seven_complete_days_decides(busiest, level):
    assert of_requests([100_000, 10, busiest, 10, 10, 10, 10, 10]).level == level
    # Neither an eighth day nor the running one counts.
    assert of_requests([busiest, 10, 10, 10, 10, 10, 10, 10]).level == "ok"
    running = [*days([10] * 7), Figure.exact(TODAY, busiest)]
    assert advice(requests=running).metrics["requests"].level == "ok"


@pytest.mark.rule("A24")
@pytest.mark.parametrize(
    ("size_mb", "level"), [(299, "ok"), (300, "watch"), (399, "watch"), (400, "over"), (500, "over"), (512, "over")]
)
def test_a_database_is_over_from_where_it_holds_back(size_mb, level):
    found = advice(size=size_mb * MB)
    assert (found.level, found.metrics["size"].limit) == (level, 500 * MB)
    assert (found.metrics["size"].busiest, found.metrics["size"].busiest_day) == (size_mb * MB, TODAY)
    assert found.suggest == (None if level == "ok" else "shorter_hourly_retention")


@pytest.mark.rule("A24")
def test_shorter_retention_is_suggested_only_where_the_size_alone_is_the_problem():
    found = advice(size=450 * MB, writes=days([70_000] * 7))
    assert (found.level, found.metric, found.suggest) == ("over", "size", None)
    assert advice(size=450 * MB, writes=None).suggest is None  # the writes might be a problem as well


@pytest.mark.rule("A24")
def test_of_two_at_the_same_level_the_one_nearest_to_its_limit_decides():
    found = advice(requests=days([61_000] * 7), writes=days([70_000] * 7), reads=days([4_900_000] * 7))
    assert (found.level, found.metric) == ("upgrade_soon", "reads")
    assert advice(requests=days([61_000] * 7), writes=days([70_000] * 7)).metric == "writes"


@pytest.mark.rule("A24")
@pytest.mark.parametrize("known", [14, 21, 28])
@pytest.mark.parametrize("left", [0, 3, 7, 8, 30])
def test_linear_growth_reaches_the_limit_on_its_day(known, left):
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
def test_a_date_within_a_week_is_worse_than_one_within_a_month(left, step, level):
    found = of_requests([100_000 - step * (left + ago) for ago in range(18 if left < 9 else 28, 0, -1)])
    assert found.busiest < (60_000 if left > 8 else 80_000)  # by what was used it is better
    assert (found.forecast, found.level) == (TODAY + left if left <= 30 else None, level)


@pytest.mark.rule("A24")
def test_growth_that_takes_longer_than_thirty_days_has_no_date():
    assert of_requests([100_000 - 1_000 * (31 + ago) for ago in range(28, 0, -1)]).forecast is None
    assert of_requests([50_000 + ago for ago in range(28)]).level == "ok"


@pytest.mark.rule("A24")
@pytest.mark.parametrize("weeks", [2, 3, 4])
@pytest.mark.parametrize("shift", range(7))
def test_the_rhythm_of_a_week_is_no_trend(weeks, shift):
    rhythm = RHYTHM[shift:] + RHYTHM[:shift]
    found = of_requests([round(45_000 * part) for part in rhythm * weeks])
    assert (found.level, found.forecast) == ("ok", None)


@pytest.mark.rule("A24")
def test_a_growing_rhythm_reaches_the_limit_on_a_busy_day():
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
def test_a_single_peak_gives_no_date(at):
    values = [30_000] * 28
    values[at] = 95_000
    found = of_requests(values)
    assert found.forecast is None
    assert found.level == ("upgrade_soon" if at >= 21 else "ok")


@pytest.mark.rule("A24")
@pytest.mark.parametrize("at", range(28))
def test_one_peak_does_not_move_the_date_of_a_growth(at):
    values = [100_000 - 1_500 * (15 + ago) for ago in range(28, 0, -1)]
    values[at] *= 4
    assert abs((of_requests(values).forecast or 0) - (TODAY + 15)) <= 1


@pytest.mark.rule("A24")
@pytest.mark.parametrize("holes", [{3}, {0, 9, 26}, {5, 6, 7, 8, 9, 10}, set(range(0, 28, 3))])
def test_days_that_are_not_told_are_no_zeros(holes):
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
def test_what_does_not_grow_has_no_date(values):
    assert of_requests(values).forecast is None


@pytest.mark.rule("A24")
def test_noise_has_hardly_ever_a_date():
    """Kendall's test is wrong in 2.5 of 100 cases, and then the slope is small: of 400 noisy months at most ten."""
    rng = random.Random(24)
    noisy = [[rng.randrange(20_000, 50_000) for _ in range(28)] for _ in range(400)]
    assert sum(of_requests(values).forecast is not None for values in noisy) <= 10


@pytest.mark.rule("A24")
@pytest.mark.parametrize("known", range(14))
def test_less_than_two_weeks_make_no_trend(known):
    rising = [5_000 * n for n in range(1, known + 1)]
    assert of_requests([0] * (28 - known) + rising).forecast is None


@pytest.mark.rule("A24")
def test_a_new_account_is_not_taken_for_one_that_grows_from_nothing():
    # Connected two days ago; the platform tells zeros for the time before.
    found = of_requests([0] * 26 + [40_000, 41_000], connected=TODAY - 3)
    assert (found.level, found.forecast) == ("ok", None)
    # Other workers of the account were there before ours, which adds its own use.
    found = of_requests([5_000] * 14 + [45_000] * 14, connected=TODAY - 15)
    assert (found.level, found.forecast) == ("ok", None)
    # An account that lay idle before it was used for the first time.
    assert of_requests([0] * 20 + [45_000] * 8).forecast is None


@pytest.mark.rule("A24")
def test_a_growing_database_has_a_date():
    def grown(step_mb):
        past = days([MB * (290 - step_mb * ago) for ago in range(28, 0, -1)])
        return advise(quiet(size=past), 290 * MB, "free", TODAY - 100, NOW)

    found = grown(10)
    assert (found.level, found.metric, found.suggest) == ("watch", "size", "shorter_hourly_retention")
    assert found.metrics["size"].forecast == TODAY + 21
    assert grown(5).level == "ok"  # 210 MB in 42 days


@pytest.mark.rule("A24")
def test_what_cannot_be_read_is_named_and_never_guessed():
    found = advice(requests=None, writes=None, reads=None, size=None)
    assert (found.level, found.metric, found.metrics, found.unavailable) == (None, None, {}, ("analytics", "size"))
    found = advice(reads=None, writes=days([90_000] * 7))
    assert (found.level, found.metric, found.unavailable) == ("upgrade_soon", "writes", ("analytics",))
    assert list(found.metrics) == ["requests", "writes", "size"]
    found = advice(size=None)
    assert (found.level, found.unavailable) == ("ok", ("size",))
    assert "size" not in found.metrics


@pytest.mark.rule("A24")
def test_an_estimate_counts_only_where_its_error_is_small():
    def estimated(value, error):
        figures = days([10_000] * 7)
        figures[3] = Figure(figures[3].day, value, value - error, value + error)
        return advice(requests=figures)

    found = estimated(70_000, 5_000)
    assert (found.level, found.unavailable) == ("watch", ())
    found = estimated(70_000, 5_001)
    assert (found.level, found.unavailable) == ("ok", ("analytics",))
    assert found.metrics["requests"].busiest == 10_000
    assert estimated(70_000, -5_000).unavailable == ("analytics",)  # an interval whose ends are the wrong way round
    # That a limit was reached is told only when it surely was.
    assert estimated(101_000, 2_000).level == "upgrade_soon"
    assert estimated(102_000, 2_000).level == "over"


@pytest.mark.rule("A24")
def test_a_paid_plan_is_measured_against_the_limit_that_it_has():
    found = advice(plan="paid", requests=days([900_000] * 7), writes=None, reads=None, size=450 * MB)
    assert (found.level, list(found.metrics), found.unavailable) == ("ok", ["size"], ())
    assert found.metrics["size"].limit == 10_000 * MB
    assert advice(plan="paid", size=8_000 * MB).level == "upgrade_soon"
    assert advice(plan="paid", size=10_000 * MB).level == "over"


values = st.lists(st.one_of(st.none(), st.integers(0, 150_000)), min_size=0, max_size=30)


@pytest.mark.rule("A24")
@given(values, st.randoms(use_true_random=False))
def test_the_order_of_the_days_does_not_matter(told, rng):
    figures = days(told)
    shuffled = [*figures]
    rng.shuffle(shuffled)
    assert advice(requests=figures) == advice(requests=shuffled)


@pytest.mark.rule("A24")
@given(st.lists(st.integers(0, 150_000), min_size=7, max_size=28), st.integers(1, 4), st.integers(0, 50_000))
def test_more_use_on_every_day_never_lowers_the_level(told, factor, more):
    def level(values):
        return LEVELS.index(of_requests(values).level)

    assert level([value * factor for value in told]) >= level(told)
    # Days before the first use are in no trend, so what is added to every day begins where all are used.
    used = [value + 1 for value in told]
    assert level([value + more for value in used]) >= level(used)


@pytest.mark.rule("A24")
@given(st.lists(st.integers(0, 99_999), min_size=7, max_size=13), st.integers(0, 6), st.integers(1, 100_000))
def test_more_use_on_one_day_never_lowers_the_level_of_what_was_used(told, ago, more):
    level = of_requests(told).level
    told[-1 - ago] += more
    assert LEVELS.index(of_requests(told).level) >= LEVELS.index(level)


@pytest.mark.rule("A24")
@given(st.lists(st.integers(0, 150_000), min_size=7, max_size=28))
def test_only_the_part_of_the_limit_matters(told):
    """Reads have fifty times the limit of requests: fifty times the use is the same advice."""
    requests = of_requests(told)
    reads = advice(reads=days([value * 50 for value in told])).metrics["reads"]
    assert LIMITS["free"]["reads"].limit == 50 * requests.limit
    assert reads == replace(requests, limit=requests.limit * 50, busiest=requests.busiest * 50)
