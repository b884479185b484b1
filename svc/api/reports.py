"""…/report: the counts of a site or link over a period, with breakdowns; …/first-view."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from svc.api.endpoint import Endpoint
from svc.api.fields import Count, Day, Moment
from svc.api.shape import Answer, Query, optional_field
from svc.model import Period, UnavailableReason


class ReportQuery(Query):
    """Period and content of a report."""

    period: Period = "today"
    breakdowns: Literal["1"] | None = optional_field(
        "Include the top pages, sources, countries, devices, browsers, operating systems and bots."
    )


class Counts(Answer):
    """`views` and `visitors` count people, `bots` everything else. `visitors` are unique per day."""

    views: Count
    bots: Count
    visitors: Count


class Point(Counts):
    """The counts of the hour or day that begins at `at`."""

    at: Moment


class Top(Answer):
    """One of the ten most frequent values."""

    key: str
    n: Count


class Breakdowns(Answer):
    """The ten most frequent values of each dimension, most frequent first. `(other)` combines all further values."""

    pages: tuple[Top, ...]
    sources: tuple[Top, ...]
    countries: tuple[Top, ...]
    devices: tuple[Top, ...]
    browsers: tuple[Top, ...]
    os: tuple[Top, ...]
    bots: tuple[Top, ...]


class Report(Answer):
    """The counts of a site or link over a period."""

    period: Period
    from_: Day = Field(serialization_alias="from")
    to: Day
    as_of: Moment | None = Field(description="Time up to which today is counted.")
    totals: Counts
    series: tuple[Point, ...] = Field(description="A point an hour for `today`, a point a day for longer periods.")
    incomplete: bool = Field(
        description="Hourly points of today are missing; the daily totals are exact. Always false for a link."
    )
    breakdowns: Breakdowns | None
    breakdowns_from: Day | None = Field(
        description="The first day of the breakdowns. It is later than `from` if the worker's database keeps fewer days"
        " than the period has. Null without breakdowns."
    )
    unavailable: UnavailableReason | None = Field(description="The reason why live numbers are missing.")


class OneReport(Answer):
    """A report."""

    report: Report


class FirstView(Answer):
    """The first visits of a site, read from its worker's database."""

    seen: bool = Field(description="A view has been counted.")
    bots: bool = Field(description="Visits have been counted as bots: by programs, or by an automated browser.")
    as_of: Moment = Field(description="Time of the read.")
    unavailable: UnavailableReason | None = Field(
        description="The reason why the database could not be read; `seen` is then based on the worker's pushes."
    )


class OneFirstView(Answer):
    """The first visits of a site."""

    first_view: FirstView


SITE = Endpoint(
    method="GET",
    path="/v1/sites/{site_id}/report",
    tag="reports",
    summary="Get the report of a site",
    description="Counts arrive hourly. Breakdowns are read live, at most 30 times a minute, and cached for 5 minutes.",
    scopes=("reports",),
    query=ReportQuery,
    answer=OneReport,
)
FIRST_VIEW = Endpoint(
    method="GET",
    path="/v1/sites/{site_id}/first-view",
    tag="reports",
    summary="Check whether a site has received its first view",
    description="Use it to wait for the first view after setting up a site. Until the worker has sent a view, the"
    " request reads the worker's database, which counts as a report read; the response is cached for 10 seconds.",
    scopes=("reports",),
    answer=OneFirstView,
)
LINK = Endpoint(
    method="GET",
    path="/v1/links/{link_id}/report",
    tag="reports",
    summary="Get the report of a link",
    description="Today's counts and the breakdowns are read live. If that fails, the report contains only stored days.",
    scopes=("reports",),
    query=ReportQuery,
    answer=OneReport,
)

ENDPOINTS = (SITE, FIRST_VIEW, LINK)
