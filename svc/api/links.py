"""/v1/links: short links and their QR codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from svc import model
from svc.api.accounts import config_state
from svc.api.ascii_forms import search_forms
from svc.api.endpoint import Endpoint
from svc.api.errors import ErrorObject
from svc.api.fields import DIGITS, Count, Country, Cursor, HttpsUrl, Id, LinkCode, Moment, ShortSearch
from svc.api.shape import LARGE_BYTES, Answer, Body, NoBody, Query, may_be_absent
from svc.model import ConfigState, LinkOrder, LinkState

if TYPE_CHECKING:
    from collections.abc import Sequence


_URL = "Where a click goes that no rule matches. Not on the link host."
CODE = (
    "Six random characters where it is absent or null. Codes that programs request unasked (`not`) are reserved:"
    " `invalid_request` with the issue `reserved_code`."
)
_RULES = "Tried in order; the first one that matches wins."


class NewRule(Body):
    """Where a click goes when its country and device match.

    A condition that is absent or null matches all. An empty list would match nothing and is refused.
    """

    url: HttpsUrl
    countries: Annotated[tuple[Country, ...], Field(min_length=1, max_length=300, fail_fast=True)] | None = Field(
        None, description="ISO 3166-1 alpha-2, at most 300."
    )
    devices: (
        Annotated[tuple[Literal["mobile", "desktop"], ...], Field(min_length=1, max_length=2, fail_fast=True)] | None
    ) = Field(None, description="Phones and tablets are `mobile`, everything else is `desktop`.")

    def to_model(self) -> model.Rule:
        """The rule as the service keeps it."""
        return model.Rule(self.url, self.countries, self.devices)


Rules = Annotated[tuple[NewRule, ...], Field(max_length=10, fail_fast=True)]


class NewLink(Body):
    """A link to be made."""

    most_bytes: ClassVar[int] = LARGE_BYTES

    account_id: Id
    url: HttpsUrl = Field(description=_URL)
    code: LinkCode | None = Field(None, description=CODE)
    rules: Rules = Field((), description=f"{_RULES} Default: `[]`.")


class LinkChange(Body):
    """What is to be another; what is absent or null stays as it is. The code always stays."""

    most_bytes: ClassVar[int] = LARGE_BYTES

    url: HttpsUrl | None = Field(None, description=_URL)
    rules: Rules | None = Field(
        None, description=f"All of them, in the place of the earlier ones; [] for none. {_RULES}"
    )


class LinkQuery(Query):
    """Which links, in which order; at most 1,000 at once."""

    account_id: Id | None = may_be_absent("Only those of this account.")
    q: ShortSearch = Field("", description="Only those whose code or address contains this, whatever the capitals.")
    order: LinkOrder = Field(
        "oldest",
        description=(
            "By age; by code, in which capitals count only where nothing else differs; or those with the most clicks in"
            " seven days first, for who may read reports."
        ),
    )
    state: LinkState = Field("active", description="Those that work, or the deleted ones.")
    limit: Annotated[int, Field(ge=1, le=1000), DIGITS] = Field(1000, description="How many at the most.")
    cursor: Cursor | None = may_be_absent("`next_cursor` of the page before, whose other parameters were the same.")

    @property
    def listing(self) -> tuple[str | None, ...]:
        """What a cursor of this list is of."""
        return (self.order, self.account_id, self.q, self.state)

    @property
    def contains(self) -> tuple[str, ...]:
        """The forms in which `q` is looked for."""
        return search_forms(self.q)


class QrQuery(Query):
    """How large the picture is."""

    size: Annotated[int, Field(ge=64, le=9999), DIGITS] | None = may_be_absent(
        "Width and height in pixels; without it the picture scales to its container."
    )


class Rule(Answer):
    """A rule of a link; a condition that is absent matches all."""

    url: str
    countries: tuple[str, ...] | None = may_be_absent()
    devices: tuple[str, ...] | None = may_be_absent()


class Link(Answer):
    """A short link. `short_url` is null without a link host, and of a deleted link, whose code may be another's."""

    id: str
    account_id: str
    code: str
    short_url: str | None
    url: str
    rules: tuple[Rule, ...]
    state: LinkState
    config: ConfigState
    live_at: Moment | None = Field(
        description="From then on every visitor gets this version. Null: not synced yet, or synced before version 0.8."
    )
    error: ErrorObject | None = Field(description="Why the worker does not have it.")
    created_at: Moment
    clicks_7d: Count | None = may_be_absent("In lists, for who may read reports: clicks of people in seven days.")

    @classmethod
    def of(cls, link: model.Link, account: model.Account | model.FormerAccount, clicks_7d: int | None = None) -> Link:
        """A link of this account; `clicks_7d` only where it is given."""
        config = config_state(link.version, account.synced_version, link.config_error)
        return cls(
            id=link.id,
            account_id=link.account_id,
            code=link.code,
            short_url=short_url(link, account),
            url=link.url,
            rules=tuple(Rule.model_validate(rule) for rule in link.rules),
            state=link.state,
            config=config,
            live_at=link.live_at if config == "synced" else None,
            error=ErrorObject.of(link.config_error),
            created_at=link.created_at,
            clicks_7d=clicks_7d,
        )


class LinkList(Answer):
    """A page of links. Whoever turns the pages meets each link that is there all the time, and none twice."""

    links: tuple[Link, ...] = Field(json_schema_extra={"maxItems": 1000})
    next_cursor: str | None = may_be_absent("Where there are more; it may be that the next page is empty.")


class OneLink(Answer):
    """A link as it is now."""

    link: Link


def short_url(link: model.Link, account: model.Account | model.FormerAccount) -> str | None:
    """Where the link is clicked; None: nowhere."""
    if account.link_host is None or link.state == "deleted":
        return None
    return f"https://{account.link_host.host}/{link.code}"


def rules_of(rules: Sequence[NewRule]) -> tuple[model.Rule, ...]:
    """The rules of a body as the service keeps them."""
    return tuple(rule.to_model() for rule in rules)


LIST = Endpoint(
    method="GET",
    path="/v1/links",
    tag="links",
    summary="List your links",
    scopes=("links",),
    query=LinkQuery,
    answer=LinkList,
)
ADD = Endpoint(
    method="POST",
    path="/v1/links",
    tag="links",
    action="link.create",
    summary="Make a short link",
    scopes=("links",),
    body=NewLink,
    answer=OneLink,
    status=201,
    codes=("limit_reached", "not_found", "link_host_required", "link_exists"),
    example={
        "account_id": "acc_k3v5d2m7q4x6a5c3e7zp",
        "url": "https://example.com/",
        "rules": [{"countries": ["DE"], "devices": ["mobile"], "url": "https://example.com/de"}],
    },
)
SHOW = Endpoint(
    method="GET",
    path="/v1/links/{link_id}",
    tag="links",
    summary="Show a link",
    scopes=("links",),
    answer=OneLink,
)
QR_CODE = Endpoint(
    method="GET",
    path="/v1/links/{link_id}/qr.svg",
    tag="links",
    summary="The link's QR code",
    description="It leads to the short address with the marker `?q`, so that a scan counts with source `qr`.",
    scopes=("links",),
    query=QrQuery,
    answer=None,
    media_types=("image/svg+xml",),
    codes=("link_host_required",),
)
CHANGE = Endpoint(
    method="PATCH",
    path="/v1/links/{link_id}",
    tag="links",
    action="link.change",
    summary="Change where a link leads",
    description=(
        "The code stays; `config` is `pending` until the worker has the change. A body that changes nothing is answered"
        " like one that does. A deleted link is `not_found`."
    ),
    scopes=("links",),
    body=LinkChange,
    answer=OneLink,
    example={"url": "https://example.com/autumn", "rules": []},
)
DELETE = Endpoint(
    method="DELETE",
    path="/v1/links/{link_id}",
    tag="links",
    action="link.delete",
    summary="Delete a link",
    description=(
        "Its code is free at once. The link and its report can still be read; deleted again, it is `not_found`."
    ),
    scopes=("links",),
    body=NoBody,
    answer=OneLink,
)

ENDPOINTS = (LIST, ADD, SHOW, CHANGE, DELETE, QR_CODE)
