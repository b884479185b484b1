"""…/totals: everything that is stored of what a site or a link counted, day by day or hour by hour."""

from __future__ import annotations

from typing import Literal

from svc.api.endpoint import JSON_TYPE, Endpoint
from svc.api.fields import Count, Moment, QueryDay
from svc.api.shape import Answer, Query, may_be_absent

CSV_TYPE = "text/csv"


class TotalsQuery(Query):
    """Which days, and how fine."""

    from_: QueryDay | None = may_be_absent("The first day; the first one that is stored where it is absent.", "from")
    to: QueryDay | None = may_be_absent("The last day, included; the last one that is stored where it is absent.")
    by: Literal["day", "hour"] = "day"


class Total(Answer):
    """The counts of the day or the hour that begins at `at`."""

    at: Moment
    views: Count
    bots: Count
    visitors: Count
    imported: Literal[True] | None = may_be_absent("Counted elsewhere, and imported; absent where it was not.")


class Totals(Answer):
    """What is stored, oldest first. A day or an hour that is not here had no views, as far as the worker has sent."""

    totals: tuple[Total, ...]


_DESCRIPTION = (
    "An addition. JSON, or CSV for who accepts that rather. It is sent while it is read: an answer that breaks off is"
    " not complete. Days are kept for ever, hours for 40 days unless the operator has set another time."
)
SITE = Endpoint(
    method="GET",
    path="/v1/sites/{site_id}/totals",
    tag="reports",
    summary="All stored totals of a site",
    description=_DESCRIPTION,
    scopes=("reports",),
    query=TotalsQuery,
    answer=Totals,
    media_types=(JSON_TYPE, CSV_TYPE),
)
LINK = Endpoint(
    method="GET",
    path="/v1/links/{link_id}/totals",
    tag="reports",
    summary="All stored totals of a link",
    description=_DESCRIPTION,
    scopes=("reports",),
    query=TotalsQuery,
    answer=Totals,
    media_types=(JSON_TYPE, CSV_TYPE),
)

ENDPOINTS = (SITE, LINK)
