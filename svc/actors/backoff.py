"""The pause between attempts of work that fails repeatedly."""

from __future__ import annotations

# With more failures, every pause has its longest value. The power of two would also exceed what a float can hold.
_MOST_DOUBLINGS = 20


def backoff_s(failures: int, first_s: float, longest_s: float) -> float:
    """Return the pause in seconds after this many failures in a row (at least 1). Each is twice as long as the last."""
    return min(longest_s, first_s * 2.0 ** min(failures - 1, _MOST_DOUBLINGS))
