"""/v1/overview: the counts of all sites and links."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from svc.api.endpoint import Endpoint
from svc.api.fields import DIGITS, Count, Day, Moment
from svc.api.links import Link
from svc.api.reports import Counts
from svc.api.shape import Query, ResponseBody
from svc.api.sites import Site
from svc.model import OverviewOrder, Period


class OverviewQuery(Query):
    """The period, the order and the number of items of an overview."""

    period: Period = "7d"
    order: OverviewOrder = Field(
        "views",
        description="Sort order of both lists: most views first, largest change first (up or down), or by host and"
        " code.",
    )
    sites: Annotated[int, Field(ge=1, le=1000), DIGITS] = Field(50, description="Maximum number of sites.")
    links: Annotated[int, Field(ge=1, le=1000), DIGITS] = Field(10, description="Maximum number of links.")


class Entry(ResponseBody):
    """The counts of a site or link."""

    totals: Counts
    totals_before: Counts | None = Field(
        description="The counts in the previous period of the same length. Null if nothing was counted in that period."
    )
    series_30d: tuple[Count, ...] = Field(
        description="Views by people on each of the last 30 UTC days, oldest first. The last value is today's.",
        json_schema_extra={"minItems": 30, "maxItems": 30},
    )


class SiteEntry(Entry):
    """A site and its counts."""

    site: Site


class LinkEntry(Entry):
    """A link and its counts."""

    link: Link


class Group(ResponseBody):
    """All sites or all links, with their `number` and their summed `totals`."""

    number: Count
    totals: Counts
    totals_before: Counts | None = Field(
        description="The sums for the previous period. Null if nothing was counted in that period."
    )


class SiteGroup(Group):
    """The summed counts of all sites, and the first sites in the requested order."""

    entries: tuple[SiteEntry, ...] = Field(description="Empty for API keys without the `sites` scope.")


class LinkGroup(Group):
    """The summed counts of all links, and the first links in the requested order."""

    broken: Count = Field(description="The number of links with `broken_targets`.")
    entries: tuple[LinkEntry, ...] = Field(description="Empty for API keys without the `links` scope.")


class Overview(ResponseBody):
    """The counts that the Workers have sent for all sites and links that are not deleted."""

    period: Period
    from_: Day = Field(serialization_alias="from")
    to: Day
    as_of: Moment | None = Field(
        description="The time up to which the counts of all accounts are complete. Null if no Worker has sent counts."
    )
    sites: SiteGroup
    links: LinkGroup


class OneOverview(ResponseBody):
    """An overview."""

    overview: Overview


SHOW = Endpoint(
    method="GET",
    path="/v1/overview",
    tag="reports",
    addition=True,
    summary="Get the counts of all sites and links",
    description="The counts are those that the Workers have sent to the service. Each Worker sends its counts once an"
    " hour. The service does not read newer counts from the Workers' databases. `visitors` is the sum of the daily"
    " visitors of each site and link.",
    scopes=("reports",),
    query=OverviewQuery,
    response=OneOverview,
)

ENDPOINTS = (SHOW,)
