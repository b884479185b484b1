"""…/report: what was counted of a site or a link."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from svc.api.endpoint import Endpoint
from svc.api.fields import Count, Day, Moment
from svc.api.shape import Answer, Query, may_be_absent
from svc.model import Period, UnavailableReason


class ReportQuery(Query):
    """How far back, and whether with breakdowns."""

    period: Period = "today"
    breakdowns: Literal["1"] | None = may_be_absent(
        "With the top pages, sources, countries, devices, browsers, systems and bots."
    )


class Counts(Answer):
    """`views` and `visitors` are people's, `bots` everything else; `visitors` are the unique ones of each day."""

    views: Count
    bots: Count
    visitors: Count


class Point(Counts):
    """The counts of the hour or the day that begins at `at`."""

    at: Moment


class Top(Answer):
    """One of the ten most frequent."""

    key: str
    n: Count


class Breakdowns(Answer):
    """The ten most frequent of each dimension, the most frequent first; `(other)` is all that was not kept apart."""

    pages: tuple[Top, ...]
    sources: tuple[Top, ...]
    countries: tuple[Top, ...]
    devices: tuple[Top, ...]
    browsers: tuple[Top, ...]
    os: tuple[Top, ...]
    bots: tuple[Top, ...]


class Report(Answer):
    """What was counted of a site or a link."""

    period: Period
    from_: Day = Field(serialization_alias="from")
    to: Day
    as_of: Moment | None = Field(description="Up to when today is counted.")
    totals: Counts
    series: tuple[Point, ...] = Field(description="A point an hour for `today`, a point a day for longer periods.")
    incomplete: bool = Field(
        description="Hourly points of today were refused; the daily totals stay exact. Always false for a link."
    )
    breakdowns: Breakdowns | None
    breakdowns_from: Day | None = Field(
        description="The first day that the breakdowns cover, later than `from` where the worker's database keeps fewer"
        " days than the period has; null without breakdowns."
    )
    unavailable: UnavailableReason | None = Field(description="Why what is read live is absent.")


class OneReport(Answer):
    """A report."""

    report: Report


class FirstView(Answer):
    """Whether a site is visited at all, as its worker's database has it now."""

    seen: bool = Field(description="A view was counted.")
    bots: bool = Field(description="Visits were counted, as bots: programs made them, or a browser that is driven.")
    as_of: Moment = Field(description="When it was looked.")
    unavailable: UnavailableReason | None = Field(
        description="Why it could not be looked; `seen` is then what the worker has sent."
    )


class OneFirstView(Answer):
    """Whether the first view was seen."""

    first_view: FirstView


SITE = Endpoint(
    method="GET",
    path="/v1/sites/{site_id}/report",
    tag="reports",
    summary="What was counted of a site",
    description="Numbers arrive hourly; breakdowns are read live, at most 30 times a minute, and kept for 5 minutes.",
    scopes=("reports",),
    query=ReportQuery,
    answer=OneReport,
)
FIRST_VIEW = Endpoint(
    method="GET",
    path="/v1/sites/{site_id}/first-view",
    tag="reports",
    summary="Whether a site's first view was seen",
    description="Until the worker has sent one it is looked for live, which counts as a read of a report; an answer is"
    " kept for 10 seconds. For who waits for it: numbers are in the reports.",
    scopes=("reports",),
    answer=OneFirstView,
)
LINK = Endpoint(
    method="GET",
    path="/v1/links/{link_id}/report",
    tag="reports",
    summary="What was counted of a link",
    description="Today is read live, with the breakdowns; where that fails, only stored days are in the report.",
    scopes=("reports",),
    query=ReportQuery,
    answer=OneReport,
)

ENDPOINTS = (SITE, FIRST_VIEW, LINK)
