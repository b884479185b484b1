"""POST /v1/links/title: propose a title for a link."""

from __future__ import annotations

from pydantic import Field

from svc.api.endpoint import Endpoint
from svc.api.fields import HttpsUrl
from svc.api.shape import Body, ResponseBody


class TitleRequest(Body):
    """The target of a link."""

    url: HttpsUrl


class ProposedTitle(ResponseBody):
    """The title of a web page."""

    title: str | None = Field(
        description="The title, shortened to 200 characters. Null if the page cannot be read within 10 seconds, or has"
        " no title."
    )


PROPOSE = Endpoint(
    method="POST",
    path="/v1/links/title",
    tag="links",
    addition=True,
    action="nothing",
    summary="Propose a title for a link",
    description="The service reads the page at `url`, and returns the page's title. The page must be public. The"
    " request does not change any link. The service never reads a title without such a request. A user can send 30"
    " of these requests per minute. At most two of them can be in progress at the same time.",
    scopes=("links",),
    body=TitleRequest,
    response=ProposedTitle,
    example={"url": "https://example.com/"},
)

ENDPOINTS = (PROPOSE,)
