"""The endpoints …/totals: all stored totals of a site or link, by day or hour."""

from __future__ import annotations

from typing import Literal

from svc.api.endpoint import JSON_TYPE, Endpoint
from svc.api.fields import Count, Moment, QueryDay
from svc.api.shape import Query, ResponseBody, optional_field

CSV_TYPE = "text/csv"


class TotalsQuery(Query):
    """The first and last day of the totals, and whether to list them by day or by hour."""

    from_: QueryDay | None = optional_field("The first day. Default: the first stored day.", "from")
    to: QueryDay | None = optional_field("The last day, inclusive. Default: the last stored day.")
    by: Literal["day", "hour"] = "day"


class Total(ResponseBody):
    """The counts of the day or hour that begins at `at`."""

    at: Moment
    views: Count
    bots: Count
    visitors: Count
    imported: Literal[True] | None = optional_field(
        "Present if the counts were imported, for example from another product."
    )
    estimated: Literal[True] | None = optional_field(
        "Present if the imported counts are estimates, because Cloudflare Web Analytics counted only a sample."
    )


class Totals(ResponseBody):
    """Stored totals, oldest first.

    Days and hours without counts, and those that the Worker has not sent yet, are absent.
    """

    totals: tuple[Total, ...]


_DESCRIPTION = (
    "The response is JSON, or CSV if the `Accept` header prefers CSV. If an error occurs while the service streams the"
    " response, the connection closes early. The service keeps daily totals permanently. It keeps hourly totals for 40"
    " days, unless the operator has configured a different period."
)
SITE = Endpoint(
    method="GET",
    path="/v1/sites/{site_id}/totals",
    tag="reports",
    addition=True,
    summary="Get all stored totals of a site",
    description=_DESCRIPTION,
    scopes=("reports",),
    query=TotalsQuery,
    response=Totals,
    media_types=(JSON_TYPE, CSV_TYPE),
)
LINK = Endpoint(
    method="GET",
    path="/v1/links/{link_id}/totals",
    tag="reports",
    addition=True,
    summary="Get all stored totals of a link",
    description=_DESCRIPTION,
    scopes=("reports",),
    query=TotalsQuery,
    response=Totals,
    media_types=(JSON_TYPE, CSV_TYPE),
)

ENDPOINTS = (SITE, LINK)
