"""Periods, dimensions and counts of reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Period = Literal["today", "7d", "30d"]  # periods of overviews, and of reports in the specification
ReportPeriod = Literal["today", "7d", "30d", "yesterday", "month", "last_month", "12mo", "year", "all"]
ShownPeriod = ReportPeriod | Literal["custom"]
Step = Literal["hour", "day", "week", "month"]  # the time that each point of a report's series covers
Compare = Literal["previous", "year"]
OverviewOrder = Literal["views", "change", "name"]
UnavailableReason = Literal["not_installed", "cloudflare", "rate_limited"]  # why a Worker's database was not read
Dimension = Literal[
    "pages",
    "sources",
    "countries",
    "devices",
    "browsers",
    "os",
    "bots",
    "campaigns",
    "entries",
    "arrivals",
    "targets",
    "outside",
]
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)

# The dimensions that older Workers do not count.
VisitList = Literal["campaigns", "entries", "arrivals", "targets"]


@dataclass(frozen=True)
class Counts:
    """Counts for a site or a link: views by people, hits by bots, and unique visitors."""

    views: int = 0
    bots: int = 0
    visitors: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.views + other.views, self.bots + other.bots, self.visitors + other.visitors)
