"""POST /v1/links/{link_id}/explain: the destination of a click, and how the Worker would count the click."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from svc.api.endpoint import Endpoint
from svc.api.fields import EdgeCountry, HeaderText, QueryText, Time
from svc.api.shape import LARGE_BYTES, Body, ResponseBody, optional_field

if TYPE_CHECKING:
    from svc.worker import explain


class AskedClick(Body):
    """The properties of a click.

    If `country` is absent or null, the country is unknown. If a header or the query is absent or null, the click does
    not have it.
    """

    most_bytes: ClassVar[int] = LARGE_BYTES

    country: EdgeCountry | None = Field(
        None, description="An ISO 3166-1 alpha-2 code, `T1` for the Tor network, or `XX` for an unknown country."
    )
    user_agent: HeaderText | None = Field(None, description="The complete value of the `User-Agent` header.")
    accept_language: HeaderText | None = Field(
        None, description="The complete value of the `Accept-Language` header, e.g. `de-AT,de;q=0.9,en;q=0.8`."
    )
    at: Time | None = Field(None, description="The time of the click, in RFC 3339 format. Default: now.")
    bucket: Annotated[int, Field(ge=0, le=99)] | None = Field(
        None,
        description="The visitor's bucket for the link's split. Every day (UTC), the Worker assigns each visitor to one"
        " of 100 buckets. Default: 0.",
    )
    query: QueryText | None = Field(
        None, description="The query string of the short URL, with or without `?`, e.g. `q` or `utm_source=mail`."
    )
    method: Literal["GET", "HEAD"] | None = Field(
        None,
        description="The method of the request. Default: `GET`. The Worker responds to methods other than GET and HEAD"
        " with 405, and does not count these requests.",
    )


class CountedAs(ResponseBody):
    """The category under which the Worker counts a click."""

    kind: Literal["view", "bot", "outside"] = Field(
        description="`outside`: a person's click before the link's period begins or after it ends. It is not counted"
        " as a view."
    )
    reason: str | None = optional_field(
        "For bots, a key in the `bots` breakdown; for clicks outside of the link's period, a key in the `outside`"
        " breakdown. Absent for views."
    )
    source: str = Field(
        description="The key in the `sources` breakdown. Empty for direct visits, and for clicks that are not views."
    )
    device: str
    browser: str
    os: str


class ExplainedClick(ResponseBody):
    """The destination of a click, and how the Worker counts the click."""

    url: str | None = Field(
        description="The destination. Null if the click is outside of the link's period, and neither the link's"
        " `after_url` nor the link host's `not_found_url` is set. Visitors then get the page for unknown codes."
    )
    rule: Annotated[int, Field(ge=0, le=9)] | None = Field(
        description="The zero-based index of the matching rule in the link's `rules`. Null if no rule matches."
    )
    variant: Annotated[int, Field(ge=0, le=9)] | None = optional_field(
        "The zero-based index of the variant in the link's `split`. Present if the split determines the target."
    )
    counted_as: CountedAs

    @classmethod
    def from_model(cls, explanation: explain.Explanation) -> ExplainedClick:
        """Return the response for an explanation."""
        counted_as = CountedAs(
            kind="bot" if explanation.reason else "outside" if explanation.outside else "view",
            reason=explanation.reason or explanation.outside or None,
            source=explanation.source,
            device=explanation.device,
            browser=explanation.browser,
            os=explanation.os,
        )
        return cls(url=explanation.url, rule=explanation.rule, variant=explanation.variant, counted_as=counted_as)


EXPLAIN = Endpoint(
    method="POST",
    path="/v1/links/{link_id}/explain",
    tag="links",
    addition=True,
    action="nothing",
    summary="Explain where a click leads and how it is counted",
    description="The service evaluates the click exactly as the Worker does once it has the current version of the"
    " link (`config` is `synced`). The request itself is not counted. The headers `User-Agent` and `Accept-Language`"
    " are the only ones that you can specify, so this request cannot explain prefetches, or clicks on links on other"
    " websites (`Referer`).",
    scopes=("links",),
    body=AskedClick,
    response=ExplainedClick,
    codes=("link_host_required", "link_disabled"),
    example={
        "country": "DE",
        "user_agent": "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile/15E1 Safari/604.1",
        "accept_language": "de-DE,de;q=0.9,en;q=0.8",
        "query": "utm_source=newsletter",
        "method": "GET",
    },
)

ENDPOINTS = (EXPLAIN,)
