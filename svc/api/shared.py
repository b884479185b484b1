"""/s/{secret}: the public pages of shares, with their reports, password check and badge."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from svc.api.endpoint import HTML_TYPE, Endpoint
from svc.api.fields import Day, Label, Moment, Password
from svc.api.reports import Counts, RangeQuery, Report
from svc.api.shape import Body, Query, ResponseBody, optional_field
from svc.model import ReportPeriod, ShownPeriod, TargetKind

SVG_TYPE = "image/svg+xml"


class PageQuery(Query):
    """The state of the page, such as the selected period. Only the page's script reads it."""

    model_config = ConfigDict(extra="ignore")


class SharedReportQuery(RangeQuery):
    """The period of a shared report, and its breakdowns."""

    period: ReportPeriod = Field(
        "30d",
        description="The same values as in the report of a site. If the request has no `period` and the share"
        " does not offer `30d`, the default is the share's first period.",
    )


class BadgeQuery(Query):
    """The content of a badge."""

    period: ReportPeriod | None = optional_field("Default: `30d`, or the first period that the share offers.")
    label: Label | None = optional_field("The text on the left. Default: `views`, or `clicks` for a link.")


class SharePassword(Body):
    """The password of a share."""

    password: Password


class ViewerToken(ResponseBody):
    """The proof that a viewer has entered the password of a share."""

    token: str | None = Field(
        description="Send the token as `Authorization: Bearer`. Null if the share does not have a password."
    )
    expires_at: Moment


class Shared(ResponseBody):
    """The settings of a share that its viewers need."""

    kind: TargetKind
    name: str
    title: str | None = optional_field(
        "The host of the site, or the short URL of the link without `https://`. The page of an account has no title."
    )
    periods: tuple[ReportPeriod, ...] | None = optional_field(
        "The periods that can be selected. If the field is absent, any days can be selected."
    )
    lists: bool


class SharedSite(ResponseBody):
    """A site in a shared account."""

    id: str
    host: str
    totals: Counts


class SharedSites(ResponseBody):
    """The counts of an account's sites over a period, most views first."""

    period: ShownPeriod
    from_: Day = Field(serialization_alias="from")
    to: Day
    as_of: Moment | None = Field(description="The time up to which today's counts are included.")
    totals: Counts
    sites: tuple[SharedSite, ...] = Field(json_schema_extra={"maxItems": 1000})


class SharedReport(ResponseBody):
    """The counts that a share shows: `report` for a site or link, or `account` for an account."""

    share: Shared
    report: Report | None = optional_field(
        "The report, with the counts that the Worker has sent. `statement` is always absent."
    )
    account: SharedSites | None = optional_field("The account's sites with their counts.")
    lists_at: Moment | None = optional_field(
        "The time from which breakdowns can be requested again. Present if `unavailable` is `rate_limited` or"
        " `cloudflare`."
    )


_WRONG = (
    "The secret in the path serves as the credential. If a network sends more than 30 unknown secrets in a minute, its"
    " requests are rejected."
)
_SITE = (
    "The share must be a share of an account. If the site does not belong to the account, or is deleted or disabled,"
    " the response is 404."
)

PAGE = Endpoint(
    method="GET",
    path="/s/{secret}",
    tag="shares",
    addition=True,
    summary="Show the page of a share",
    description=f"If the request fails, browsers get an error page, and other clients get JSON. {_WRONG}",
    access="anybody",
    query=PageQuery,
    response=None,
    media_types=(HTML_TYPE,),
    error_pages=(404, 429, 503),
    codes=("rate_limited",),
)
REPORT = Endpoint(
    method="GET",
    path="/s/{secret}/report",
    tag="shares",
    addition=True,
    summary="Get the counts of a share",
    description="Totals come from the counts that the Worker has sent. For breakdowns, the service reads the Worker's"
    " database at most once every 5 minutes for each period, regardless of the number of viewers. If the share has"
    " `periods`, the request can select one of them, but cannot use `from`, `to` or `compare`. If the share has a"
    f" password, the request needs a token. {_WRONG}",
    access="anybody",
    query=SharedReportQuery,
    response=SharedReport,
    codes=("rate_limited", "unauthorized"),
)
SITE_PAGE = Endpoint(
    method="GET",
    path="/s/{secret}/sites/{site_id}",
    tag="shares",
    addition=True,
    summary="Show the page of a site in a shared account",
    description=f"If the request fails, browsers get an error page, and other clients get JSON. {_SITE} If the share"
    f" has a password, every site id gets the same page, so the response does not reveal which sites exist. {_WRONG}",
    access="anybody",
    query=PageQuery,
    response=None,
    media_types=(HTML_TYPE,),
    error_pages=(404, 429, 503),
    codes=("rate_limited",),
)
SITE_REPORT = Endpoint(
    method="GET",
    path="/s/{secret}/sites/{site_id}/report",
    tag="shares",
    addition=True,
    summary="Get the counts of a site in a shared account",
    description="The response is the same as for a share of this site, except that `kind` is `account`. If the share"
    " has a password, the request needs a token from `POST /s/{secret}/report`."
    f" {_SITE} {_WRONG}",
    access="anybody",
    query=SharedReportQuery,
    response=SharedReport,
    codes=("rate_limited", "unauthorized"),
)
SIGN_IN = Endpoint(
    method="POST",
    path="/s/{secret}/report",
    tag="shares",
    addition=True,
    action="nothing",
    summary="Get a token for a share with a password",
    description="The token expires after 12 hours, or when the password of the share is changed. The number of"
    f" passwords per network is limited. {_WRONG}",
    access="anybody",
    body=SharePassword,
    response=ViewerToken,
    codes=("rate_limited", "invalid_password"),
    example={"password": "correct horse battery"},
)
BADGE = Endpoint(
    method="GET",
    path="/s/{secret}/badge.svg",
    tag="shares",
    addition=True,
    summary="Get the number of views as an image",
    description="The number comes from the counts that the Worker has sent, and can be cached for 10 minutes. If"
    " there is no number to show, the response is an image that says so, even if the share does not exist. Only"
    " requests with invalid parameters or a malformed secret get a JSON error. " + _WRONG,
    access="anybody",
    query=BadgeQuery,
    response=None,
    media_types=(SVG_TYPE,),
)

ENDPOINTS = (PAGE, REPORT, SITE_PAGE, SITE_REPORT, SIGN_IN, BADGE)
