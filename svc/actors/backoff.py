"""The pause before work that fails repeatedly is retried."""

from __future__ import annotations

# More doublings are unnecessary, because every pause has reached its longest value by then. A much larger power of two
# would also overflow a float.
_MOST_DOUBLINGS = 20


def backoff_s(failures: int, first_s: float, longest_s: float) -> float:
    """Return the pause in seconds after `failures` consecutive failures (at least 1).

    Each pause is twice as long as the previous one, up to `longest_s`.
    """
    return min(longest_s, first_s * 2.0 ** min(failures - 1, _MOST_DOUBLINGS))
