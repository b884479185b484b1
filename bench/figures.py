"""One line of the results table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """A description, the measured figure, and the target for the figure."""

    what: str
    measured: str
    to_reach: str
