"""POST /v1/links/{link_id}/explain: what a click would lead to, and as what it would be counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from svc.api.endpoint import Endpoint
from svc.api.fields import EdgeCountry, HeaderText, QueryText
from svc.api.shape import LARGE_BYTES, Answer, Body, may_be_absent

if TYPE_CHECKING:
    from svc.worker import explain


class AskedClick(Body):
    """A click. What is absent or null is not sent: no user agent, no query, from a country that nobody knows."""

    most_bytes: ClassVar[int] = LARGE_BYTES

    country: EdgeCountry | None = Field(
        None, description="ISO 3166-1 alpha-2, `T1` for the Tor network, `XX` where the platform does not know it."
    )
    user_agent: HeaderText | None = Field(None, description="The header `User-Agent`, as long as it is.")
    query: QueryText | None = Field(
        None, description="What stands behind the short address, with or without its `?`: `q`, `utm_source=mail`."
    )
    method: Literal["GET", "HEAD"] | None = Field(
        None, description="`GET` where it is absent. The worker answers every other method with 405, and counts none."
    )


class CountedAs(Answer):
    """How the worker counts a click."""

    kind: Literal["view", "bot"]
    reason: str | None = may_be_absent("Of a bot: why it is one, a key of the breakdown `bots`.")
    source: str = Field(description="The key of the breakdown `sources`; empty for a direct visit, and for a bot.")
    device: str
    browser: str
    os: str


class ExplainedClick(Answer):
    """Where a click leads, and how it is counted."""

    url: str
    rule: Annotated[int, Field(ge=0, le=9)] | None = Field(
        description="The place in `rules` of the rule that matched, from 0; null: none did."
    )
    counted_as: CountedAs

    @classmethod
    def of(cls, found: explain.Explanation) -> ExplainedClick:
        """What the worker makes of a click."""
        counted_as = CountedAs(
            kind="bot" if found.reason else "view",
            reason=found.reason or None,
            source=found.source,
            device=found.device,
            browser=found.browser,
            os=found.os,
        )
        return cls(url=found.url, rule=found.rule, counted_as=counted_as)


EXPLAIN = Endpoint(
    method="POST",
    path="/v1/links/{link_id}/explain",
    tag="links",
    action="nothing",
    summary="Explain what a click would do",
    description="Exactly what the worker does with such a click, once it has the link as it is now (`config` is"
    " `synced`); nothing is counted. A click from a page, or one fetched ahead, is not asked for here: it has more"
    " headers.",
    scopes=("links",),
    body=AskedClick,
    answer=ExplainedClick,
    codes=("link_host_required",),
    example={
        "country": "DE",
        "user_agent": "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile/15E1 Safari/604.1",
        "query": "utm_source=newsletter",
        "method": "GET",
    },
)

ENDPOINTS = (EXPLAIN,)
