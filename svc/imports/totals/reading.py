"""The description of how a file was read, and the rows of tables that have one row per day."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from svc.imports.totals.table import Wrong, read_count, read_day
from svc.model import Counts

if TYPE_CHECKING:
    from svc.imports.totals.table import Table
    from svc.imports.totals.tally import Tally

# The note about days from a product that has a time zone for each site.
SITES_ZONE = "days in the site's time zone in {} are read as UTC days"


@dataclass(frozen=True)
class Reading:
    """Information for the operator about how a file was read. `notes` explain how the product counts."""

    product: str
    columns: tuple[str, ...]
    notes: tuple[str, ...] = ()


def add_days(table: Table, tally: Tally, day: str, views: str, visitors: str, bots: str = "") -> list[tuple[int, int]]:
    """Add a table with one row per day, and return the line and day of each row. Raises NotReadable."""
    found = []
    for line, [of_day, of_views, of_visitors, of_bots] in table.rows(day, views, visitors, bots):
        try:
            counts = Counts(
                read_count(views, of_views), read_count(bots, of_bots, 0), read_count(visitors, of_visitors, 0)
            )
            number = read_day(of_day)
        except Wrong as wrong:
            tally.refused.add(line, str(wrong))
            continue
        found.append((line, number))
        tally.add_day(line, number, counts)
    return found
