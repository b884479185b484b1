"""/v1/tags: the tags of links, and the report of all links with a tag."""

from __future__ import annotations

from pydantic import Field

from svc.api.endpoint import Endpoint
from svc.api.fields import Count, Day, Id, Moment, ShortSearch
from svc.api.reports import Comparison, Counts, PeriodQuery, Point
from svc.api.shape import Query, ResponseBody, optional_field
from svc.model import ShownPeriod, Step

MAX_TAGS = 1_000


class TagQuery(Query):
    """Filters for a list of tags."""

    account_id: Id | None = optional_field("Only tags of links in this account.")
    q: ShortSearch = Field("", description="Only tags that contain this text. Case is ignored.")


class Tag(ResponseBody):
    """A tag, and the links that have it."""

    tag: str
    links: Count = Field(description="The number of links with this tag. Deleted links are not included.")
    clicks_7d: Count | None = optional_field(
        "Clicks by people on the tag's links in the last seven complete UTC days. Present only with the `reports`"
        " scope."
    )


class TagList(ResponseBody):
    """The tags of your links. The tag with the most links comes first."""

    tags: tuple[Tag, ...] = Field(json_schema_extra={"maxItems": MAX_TAGS})
    truncated: bool = Field(description=f"True if there are more than {MAX_TAGS:,} tags. Use `q` to find the others.")


class TagReport(ResponseBody):
    """The counts of all links that have the tag now, added up. Counts that Workers have not sent yet are missing."""

    tag: str
    links: Count = Field(description="The number of links with this tag. Deleted links are not included.")
    period: ShownPeriod = Field(description="The requested period, or `custom` if the request has `from` or `to`.")
    from_: Day = Field(serialization_alias="from")
    to: Day
    by: Step = Field(description="The length of time that each point of `series` covers.")
    as_of: Moment | None = Field(
        description="The time up to which the Workers of all links with the tag have sent their counts. Null if a"
        " Worker has not sent any."
    )
    totals: Counts = Field(
        description="A visitor who clicked several links with the tag is counted once for each link, even in"
        " `visitors`."
    )
    series: tuple[Point, ...]
    comparison: Comparison | None = optional_field(
        "The period with which the report is compared. Present if the request has `compare`."
    )


class OneTagReport(ResponseBody):
    """The report of a tag."""

    report: TagReport


LIST = Endpoint(
    method="GET",
    path="/v1/tags",
    tag="links",
    addition=True,
    summary="List the tags of your links",
    description=f"The response has at most {MAX_TAGS:,} tags.",
    scopes=("links",),
    query=TagQuery,
    response=TagList,
)
REPORT = Endpoint(
    method="GET",
    path="/v1/tags/{tag}/report",
    tag="reports",
    addition=True,
    summary="Get the report for a tag",
    description="The report adds up the stored counts of all links that have this tag now. It does not contain clicks"
    " that the Workers have not sent yet. If no link has the tag, the response is `not_found`.",
    scopes=("reports",),
    query=PeriodQuery,
    response=OneTagReport,
)

ENDPOINTS = (LIST, REPORT)
