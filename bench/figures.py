"""One line of the table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """What was measured, the figure, and what is to be reached."""

    what: str
    measured: str
    to_reach: str
