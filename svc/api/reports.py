"""The endpoints …/report (a site's or link's counts over a period, with breakdowns) and …/first-view."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from svc.api.endpoint import Endpoint
from svc.api.fields import DIGITS, Count, Day, Moment, QueryDay
from svc.api.ledger import DayStatement
from svc.api.shape import Query, ResponseBody, optional_field
from svc.model import Compare, ReportPeriod, ShownPeriod, Step, UnavailableReason, VisitList

# The periods in the specification. Reports for these periods contain the additional fields only on request.
_FIRST_PERIODS = ("today", "7d", "30d")


class PeriodQuery(Query):
    """The period of a report."""

    period: ReportPeriod = Field(
        "today",
        description="`today` and `yesterday` are UTC days. `7d` and `30d` end today. `month` and `year` are the"
        " calendar month and year up to today, and `last_month` is the calendar month before. `12mo` is the current"
        " month and the eleven months before it. `all` begins with the first imported day, or with the day on which"
        " the site or link was created.",
    )
    from_: QueryDay | None = optional_field(
        "The first UTC day, instead of a `period`. If only `to` is given, the report begins as for `all`.", "from"
    )
    to: QueryDay | None = optional_field(
        "The last UTC day, inclusive. The default is today. A later day is treated as today."
    )
    by: Step | None = optional_field(
        "The length of time that each point covers. Weeks begin on Monday. By default, a point covers an hour if the"
        " period is one day whose hours are available, a day if the period has up to 92 days, a week if it has"
        " up to 183 days, and a month if it is longer. A series has at most 1,200 points. Hours are available for the"
        " last 40 days, unless the operator has configured a different period."
    )
    compare: Compare | None = optional_field(
        "Add the counts of the previous period (`previous`), or of the same dates a year earlier (`year`)."
    )

    @property
    def is_extended(self) -> bool:
        """True if the request uses a parameter or value that the specification does not have."""
        new = (self.from_, self.to, self.by, self.compare)
        return self.period not in _FIRST_PERIODS or any(each is not None for each in new)

    @property
    def needs_first_day(self) -> bool:
        """True if the report begins on the first day with counts."""
        return self.from_ is None and (self.to is not None or self.period == "all")


class RangeQuery(PeriodQuery):
    """The period of a report, and its breakdowns."""

    breakdowns: Literal["1"] | None = optional_field(
        "Include the top pages, sources, countries, devices, browsers, operating systems, bots and campaigns. A site's"
        " report also includes entry pages and arrivals. A link's report also includes targets."
    )
    limit: Annotated[int, Field(ge=1, le=100), DIGITS] = Field(
        10, description="The maximum number of entries in each breakdown."
    )


class ReportQuery(RangeQuery):
    """The period and the content of a report."""

    statement: Literal["1"] | None = optional_field(
        "Include the statement of counts for the report's last day. The service reads it from the Worker's database"
        " together with breakdowns and live counts."
    )


class SiteReportQuery(ReportQuery):
    """The period and the content of a site's report."""

    live: Literal["1"] | None = optional_field(
        "Include the views that the Worker has counted but not sent to the service yet. `as_of` is then the time at"
        " which the Worker's database was read."
    )


class Counts(ResponseBody):
    """`views` and `visitors` include only people; `bots` counts all other views. `visitors` are unique per day."""

    views: Count
    bots: Count
    visitors: Count = Field(
        description="Unique visitors per day or hour. For longer periods, this is the sum of the daily numbers,"
        " because the Worker cannot recognize a visitor who returns on another day."
    )


class Point(Counts):
    """The counts of the hour, day, week or month that begins at `at`.

    Days outside the report's period are not included.
    """

    at: Moment
    estimated: Literal[True] | None = optional_field(
        "Present if the counts include estimates imported from Cloudflare Web Analytics, which counted only a sample."
    )


class Top(ResponseBody):
    """One of the most frequent values of a breakdown, and its count."""

    key: str
    n: Count


class Arrival(ResponseBody):
    """A source of visits, and the first page of these visits.

    One entry combines all remaining pairs of source and page. In this entry, both are `(other)`.
    """

    source: str
    page: str
    n: Count


class Breakdowns(ResponseBody):
    """The most frequent values of each dimension, most frequent first.

    The Worker keeps a limited number of values per breakdown. The entry `(other)` combines all other values.
    `campaigns`, `entries`, `arrivals` and `targets` are absent if the installed Worker version does not count them.
    """

    pages: tuple[Top, ...]
    sources: tuple[Top, ...]
    countries: tuple[Top, ...]
    devices: tuple[Top, ...]
    browsers: tuple[Top, ...]
    os: tuple[Top, ...]
    bots: tuple[Top, ...]
    channels: tuple[Top, ...] | None = optional_field(
        "Views by channel, which is a group of sources: `search`, `social`, `ai` (AI assistants), `email`, `campaign`,"
        " `referral`, `direct`, `qr`, or `internal` (a view that followed another view on the same site)."
        " `(other)` combines the views whose source is not listed individually. `channels` is present only if the"
        " report has `by`."
    )
    campaigns: tuple[Top, ...] | None = optional_field(
        "The values of the URL parameter `utm_campaign`, in lower case. Views without this parameter are not included."
    )
    entries: tuple[Top, ...] | None = optional_field(
        "Only for a site: entry pages, which are the pages of views that did not follow another view on the site."
    )
    arrivals: tuple[Arrival, ...] | None = optional_field("Only for a site: entry pages with their sources.")
    targets: tuple[Top, ...] | None = optional_field(
        "Only for a link: the URLs to which the clicks were redirected, while the link had rules or a split. The"
        " middle of a URL with more than 200 characters is replaced by `...`."
    )
    outside: tuple[Top, ...] | None = optional_field(
        "Only for a link: the clicks by people before its `starts_at` (`early`) and from its `ends_at` on (`ended`)."
        " They are not counted as views. Absent if there were none."
    )


class Comparison(ResponseBody):
    """The counts of the period with which a report is compared."""

    from_: Day = Field(serialization_alias="from")
    to: Day
    totals: Counts
    series: tuple[Point, ...] = Field(
        description="The points of the comparison period, in the format of the report's `series`. Hours that are no"
        " longer stored are missing, but `totals` are complete."
    )


class MissingBreakdowns(ResponseBody):
    """Days of a report that its breakdowns do not cover.

    `not_kept`: the Worker's database no longer has these days, except possibly in the sum of a whole month. `imported`:
    the totals were imported from another product. `not_counted`: an older version of the Worker did not count the
    breakdowns in `lists` on some of these days. If `reason` has any other value, the database could not be read (see
    `unavailable`).
    """

    from_: Day = Field(serialization_alias="from")
    to: Day
    reason: Literal["not_kept", "imported", "not_counted"] | UnavailableReason
    lists: tuple[VisitList, ...] | None = optional_field("The breakdowns that are missing. Absent if all are missing.")


class Report(ResponseBody):
    """The counts of a site or link over a period."""

    period: ShownPeriod = Field(description="The requested period, or `custom` if the request has `from` or `to`.")
    from_: Day = Field(serialization_alias="from")
    to: Day
    by: Step | None = optional_field(
        "The length of time that each point of `series` covers. Present if the request uses `by`, `compare`, `from`,"
        " `to`, or a period other than `today`, `7d` and `30d`."
    )
    as_of: Moment | None = Field(description="The time up to which today's counts are included.")
    totals: Counts
    series: tuple[Point, ...] = Field(
        description="Each point covers the time given in `by`. If the report has no `by`, it covers an hour for"
        " `today`, otherwise a day."
    )
    incomplete: bool = Field(
        description="True if an hourly point is missing or incomplete. If the report has no `by`, this field refers"
        " only to today, and is always false for a link and after a successful live read. Daily totals are always"
        " exact."
    )
    comparison: Comparison | None = optional_field(
        "The period with which the report is compared. Present if the request has `compare`."
    )
    breakdowns: Breakdowns | None
    breakdowns_from: Day | None = Field(
        description="The first day that the breakdowns cover. This day is later than `from` if the period begins before"
        " the oldest breakdowns that the Worker's database keeps. Null if the report has no breakdowns."
    )
    breakdowns_missing: tuple[MissingBreakdowns, ...] | None = optional_field(
        "The days without breakdowns, with the reason. Present if the report has `by` and breakdowns were requested."
        " Empty if the breakdowns cover all days."
    )
    unavailable: UnavailableReason | None = Field(
        description="The reason why the numbers from the Worker's database are missing. Null if none are missing."
    )
    statement: DayStatement | None = optional_field(
        "The statement of counts for the day `to`. Absent if it was not requested, if the numbers in the Worker's"
        " database are unknown, or if the service was too busy."
    )


class OneReport(ResponseBody):
    """A report."""

    report: Report


class View(ResponseBody):
    """The values that the breakdowns contain for a site's only view."""

    page: str
    country: str
    browser: str


class FirstView(ResponseBody):
    """The result of checking whether a site has received its first view."""

    seen: bool = Field(description="True if a view has been counted.")
    bots: bool = Field(
        description="True if a visit by a bot (a program or an automated browser) has been counted since yesterday"
        " (UTC). Always false once the Worker has sent the first view, or if the database could not be read."
    )
    view: View | None = Field(
        description="The first view, as long as it is the only view. Null before the first view, after the second"
        " view, or once the Worker has sent its counts."
    )
    as_of: Moment = Field(description="The time at which the numbers were read.")
    unavailable: UnavailableReason | None = Field(
        description="The reason why the service could not read the database. `seen` is then based on the Worker's"
        " pushes. Null if the service has read the database or did not need to."
    )


class OneFirstView(ResponseBody):
    """The result of checking whether a site has received its first view."""

    first_view: FirstView


SITE = Endpoint(
    method="GET",
    path="/v1/sites/{site_id}/report",
    tag="reports",
    summary="Get the report of a site",
    description="The Worker sends its counts once an hour. For `live=1` and for breakdowns, the service reads the"
    " Worker's database and caches the result for 5 minutes. Each user is limited to 30 of these reads per minute. If a"
    " live read fails, the report contains the counts that the Worker has sent.",
    scopes=("reports",),
    query=SiteReportQuery,
    response=OneReport,
)
FIRST_VIEW = Endpoint(
    method="GET",
    path="/v1/sites/{site_id}/first-view",
    tag="reports",
    addition=True,
    summary="Check whether a site has received its first view",
    description="Use this request to wait for the first view after you have set up a site. Until the Worker has sent a"
    " view, the service reads the Worker's database and caches the result for 10 seconds. Each read counts as one of"
    " the user's 30 report reads per minute.",
    scopes=("reports",),
    response=OneFirstView,
)
LINK = Endpoint(
    method="GET",
    path="/v1/links/{link_id}/report",
    tag="reports",
    summary="Get the report of a link",
    description="The service reads today's counts and the breakdowns from the Worker's database. If the read fails, the"
    " report contains only days whose final counts the service has stored.",
    scopes=("reports",),
    query=ReportQuery,
    response=OneReport,
)

ENDPOINTS = (SITE, FIRST_VIEW, LINK)
