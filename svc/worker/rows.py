"""Types for the statements on a Worker's database and for the result rows that D1's API returns. No I/O."""

from __future__ import annotations

from collections.abc import Mapping

Row = Mapping[str, object]
# The SQL and its parameters.
Statement = tuple[str, list[str]]


def integer(value: object) -> int:
    """Return a column's value as an integer, with 0 for null. Raises ValueError if it is not an integer."""
    return int(str(value or 0))
