"""Types for statements on the worker's database and for result rows as returned by D1's API. No I/O."""

from __future__ import annotations

from collections.abc import Mapping

Row = Mapping[str, object]
# SQL, and its parameters.
Statement = tuple[str, list[str]]


def integer(value: object) -> int:
    """Return the integer in a column; 0 for null. Raises ValueError."""
    return int(str(value or 0))
