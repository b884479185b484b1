"""Tail probabilities of the negative binomial distribution.

The distribution describes counts that vary more than those of a Poisson distribution. With mean m and dispersion d, its
variance is m + d·m². The tails are values of the regularized incomplete beta function (NIST Digital Library of
Mathematical Functions, 8.17.E5), which is computed by the continued fraction 8.17.E22 with Lentz's method (Press et
al., Numerical Recipes, 6.4).
"""

from __future__ import annotations

import math

# The relative precision, and the number of steps after which the continued fraction has converged for any count.
_PRECISION = 1e-10
_MOST_STEPS = 10_000
_TINY = 1e-300


def at_least(count: int, mean: float, dispersion: float) -> float:
    """Return the probability of `count` or more. `mean`: at least 0. `dispersion`: greater than 0."""
    if count <= 0:
        return 1.0
    if mean <= 0:
        return 0.0
    return _beta(mean * dispersion / (1 + mean * dispersion), count, 1 / dispersion)


def at_most(count: int, mean: float, dispersion: float) -> float:
    """Return the probability of `count` or less. `mean`: at least 0. `dispersion`: greater than 0."""
    if count < 0:
        return 0.0
    if mean <= 0:
        return 1.0
    return _beta(1 / (1 + mean * dispersion), 1 / dispersion, count + 1)


def _beta(x: float, a: float, b: float) -> float:
    """Return the regularized incomplete beta function I_x(a, b) for 0 < x < 1."""
    log_front = (
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )  # log(x^a (1-x)^b / B(a, b))
    front = math.exp(log_front) if log_front > math.log(_TINY) else 0.0
    if x < (a + 1) / (a + b + 2):
        return min(1.0, front * _fraction(x, a, b) / a)
    return max(0.0, 1.0 - front * _fraction(1 - x, b, a) / b)


def _fraction(x: float, a: float, b: float) -> float:
    """Return the continued fraction of the incomplete beta function, which converges for x < (a + 1) / (a + b + 2)."""
    c, d = 1.0, _inverse(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _MOST_STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = _inverse(1 + even * d)
        c = 1 + even / c or _TINY
        value *= c * d
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = _inverse(1 + odd * d)
        c = 1 + odd / c or _TINY
        value *= c * d
        if abs(c * d - 1) < _PRECISION:
            break
    return value


def _inverse(value: float) -> float:
    return 1 / (value or _TINY)
