"""Rows of the worker's database as the platform's API returns them, and the statements that find them. Pure."""

from __future__ import annotations

from collections.abc import Mapping

Row = Mapping[str, object]
# SQL, and its parameters.
Statement = tuple[str, list[str]]


def integer(value: object) -> int:
    """The integer in a column; 0 for null. Raises ValueError."""
    return int(str(value or 0))
