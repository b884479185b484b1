"""Tests that the computed tails of the negative binomial distribution equal the sums of its probabilities."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc.actors.service.negative_binomial import at_least, at_most

MEANS = st.floats(1e-3, 1e6)
DISPERSIONS = st.floats(1e-3, 20)
COUNTS = st.integers(0, 3_000_000)


def probability(count: int, mean: float, dispersion: float) -> float:
    size = 1 / dispersion
    log = math.lgamma(count + size) - math.lgamma(count + 1) - math.lgamma(size)
    return math.exp(log - size * math.log1p(mean * dispersion) - count * math.log1p(1 / (mean * dispersion)))


@given(st.integers(0, 200), st.floats(0.01, 100), st.floats(0.01, 5))
def test_lower_tail_is_the_sum_of_the_probabilities(count: int, mean: float, dispersion: float) -> None:
    wanted = math.fsum(probability(each, mean, dispersion) for each in range(count + 1))
    assert at_most(count, mean, dispersion) == pytest.approx(wanted, rel=1e-6, abs=1e-15)


@pytest.mark.parametrize(
    ("count", "mean", "dispersion"), [(30, 5, 0.1), (700, 100, 0.5), (4, 0.3, 2), (9_000, 2e3, 0.12)]
)
def test_upper_tail_is_the_sum_of_the_probabilities(count: int, mean: float, dispersion: float) -> None:
    wanted = math.fsum(probability(each, mean, dispersion) for each in range(count, 40_000))
    assert at_least(count, mean, dispersion) == pytest.approx(wanted, rel=1e-6)


@given(COUNTS, MEANS, DISPERSIONS)
def test_tails_are_complementary_and_monotonic(count: int, mean: float, dispersion: float) -> None:
    low, high = at_most(count, mean, dispersion), at_least(count + 1, mean, dispersion)
    assert 0 <= low <= 1
    assert 0 <= high <= 1
    assert low + high == pytest.approx(1, abs=1e-6)
    assert at_most(count + 1, mean, dispersion) >= low - 1e-9
    assert at_least(count + 1, mean * 1.5, dispersion) >= high - 1e-9


def test_limits() -> None:
    assert (at_least(0, 5, 0.1), at_most(-1, 5, 0.1)) == (1, 0)
    assert (at_least(1, 0, 0.1), at_most(0, 0, 0.1)) == (0, 1)
    # with so little variation, the distribution is nearly a Poisson distribution
    assert at_most(0, 20, 1e-6) == pytest.approx(math.exp(-20), rel=1e-3)
