"""Types for the statements on a Worker's database and for the result rows that D1's API returns. No I/O."""

from __future__ import annotations

from collections.abc import Mapping

Row = Mapping[str, object]
# The SQL and the parameters of a statement.
Statement = tuple[str, list[str]]


def integer(value: object) -> int:
    """Return a column's value as an integer, or 0 for null. Raises ValueError if the value is not an integer."""
    return int(str(value or 0))
