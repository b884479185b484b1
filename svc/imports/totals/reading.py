"""Describes how a file was read. The module also reads tables that have one row per day."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from svc.imports.totals.table import Wrong, read_count, read_day
from svc.model import Counts

if TYPE_CHECKING:
    from svc.imports.totals.table import Table
    from svc.imports.totals.tally import Tally

# A template for the note about a product that reports days in the time zone of each site.
SITES_ZONE = "days in the site's time zone in {} are read as UTC days"


@dataclass(frozen=True)
class Reading:
    """Explains to the operator how a file was read. `notes`: explanations of how the product counts."""

    product: str
    columns: tuple[str, ...]
    notes: tuple[str, ...] = ()


def add_days(table: Table, tally: Tally, day: str, views: str, visitors: str, bots: str = "") -> list[tuple[int, int]]:
    """Add a table with one row per day to the tally, which collects daily totals.

    Returns the line number and the day of each row. Raises NotReadable.
    """
    days = []
    for line, [of_day, of_views, of_visitors, of_bots] in table.rows(day, views, visitors, bots):
        try:
            counts = Counts(
                read_count(views, of_views), read_count(bots, of_bots, 0), read_count(visitors, of_visitors, 0)
            )
            number = read_day(of_day)
        except Wrong as wrong:
            tally.refused.add(line, str(wrong))
            continue
        days.append((line, number))
        tally.add_day(line, number, counts)
    return days
