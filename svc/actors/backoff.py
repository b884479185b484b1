"""Exponential backoff: the pause before a retry of failed work."""

from __future__ import annotations

# The maximum number of doublings. After this many doublings, every pause has reached its maximum. A much larger power
# of two would overflow a float.
_MOST_DOUBLINGS = 20


def backoff_s(failures: int, first_s: float, longest_s: float) -> float:
    """Return the pause in seconds after `failures` consecutive failures (at least 1).

    The pause doubles with each failure, up to `longest_s`.
    """
    return min(longest_s, first_s * 2.0 ** min(failures - 1, _MOST_DOUBLINGS))
