"""…/shares and /v1/shares: public pages with the counts of a site, a link or an account. `shared` has the pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import AfterValidator, Field

from svc.api.endpoint import Endpoint
from svc.api.fields import Day, Moment, Name, NewPassword, NoteDay, Origins, without_duplicates
from svc.api.shape import LARGE_BYTES, Body, EmptyBody, Ok, ResponseBody, optional_field
from svc.model import ReportPeriod

if TYPE_CHECKING:
    from svc import model


Periods = Annotated[
    tuple[ReportPeriod, ...], Field(min_length=1, max_length=9, fail_fast=True), AfterValidator(without_duplicates)
]

_NAME = "The name of the share, which viewers see on the page."
_PASSWORD = "Viewers have to enter this password."  # noqa: S105  # a description
_UNTIL = "The last UTC day on which the page is available. It cannot be before today."
_PERIODS = "The periods that viewers can select. Without this field, they can select any days."
_LISTS = (
    "Whether the page can show breakdowns, such as top pages and sources. For a share of an account, each site's page"
    " shows that site's breakdowns."
)
_EMBED = (
    "The origins of the websites that may show the page in a frame. An origin begins with `https://`; for development,"
    " `http://localhost` is also accepted."
)


class NewShare(Body):
    """A share to create."""

    most_bytes: ClassVar[int] = LARGE_BYTES
    holds_password: ClassVar[bool] = True

    name: Name = Field(description=_NAME)
    password: NewPassword | None = Field(None, description=_PASSWORD)
    until: NoteDay | None = Field(None, description=_UNTIL)
    periods: Periods | None = Field(None, description=_PERIODS)
    lists: bool = Field(False, description=f"{_LISTS} Default: `false`.")
    embed: Origins = Field((), description=f"{_EMBED} Default: none.")


class ShareChange(Body):
    """Changes to a share. Fields that are absent keep their value."""

    most_bytes: ClassVar[int] = LARGE_BYTES
    holds_password: ClassVar[bool] = True

    name: Name | None = Field(None, description=f"{_NAME} If the field is null, the name does not change.")
    password: NewPassword | None = Field(
        None,
        description=f"{_PASSWORD} If you change the password, all viewers have to enter the new one. If the field"
        " is null, the share no longer has a password.",
    )
    until: NoteDay | None = Field(None, description=f"{_UNTIL} If the field is null, the share has no end date.")
    periods: Periods | None = Field(
        None, description="The periods that viewers can select. If the field is null, they can select any days."
    )
    lists: bool | None = Field(None, description=f"{_LISTS} If the field is null, the value does not change.")
    embed: Origins | None = Field(None, description=f"{_EMBED} If the field is null, the origins do not change.")

    def changes(self) -> dict[str, object]:
        """Return the new values by field name, without the password."""
        removable = {name: getattr(self, name) for name in ("until", "periods") if name in self.model_fields_set}
        others = {name: getattr(self, name) for name in ("name", "lists", "embed")}
        return removable | {name: value for name, value in others.items() if value is not None}


class Share(ResponseBody):
    """A public page with the counts of the site, link or account in `site_id`, `link_id` or `account_id`."""

    id: str
    site_id: str | None = optional_field()
    link_id: str | None = optional_field()
    account_id: str | None = optional_field()
    name: str
    url: str | None = Field(
        description="The URL of the page. Anyone who has the URL can open the page. Null if the service cannot"
        " decrypt the URL's secret with its key file; the URL still works."
    )
    password: bool = Field(description="True if viewers have to enter a password.")
    until: Day | None = optional_field("The last day on which the page is available.")
    periods: tuple[ReportPeriod, ...] | None = optional_field("The periods that viewers can select.")
    lists: bool
    embed: tuple[str, ...]
    created_at: Moment

    @classmethod
    def from_model(cls, share: model.Share, url: str | None) -> Share:
        """Return the response for a share with this URL."""
        return cls(
            id=share.id,
            **{f"{share.target_kind}_id": share.target},
            name=share.name,
            url=url,
            password=share.password_hash is not None,
            until=share.until,
            periods=share.periods,
            lists=share.lists,
            embed=share.embed,
            created_at=share.created_at,
        )


class ShareList(ResponseBody):
    """All shares of a site, a link or an account, oldest first."""

    shares: tuple[Share, ...] = Field(json_schema_extra={"maxItems": 50})


class OneShare(ResponseBody):
    """The share as it is after the request."""

    share: Share


_SCOPES = (
    "An API key needs the `sites` scope for a share of a site, `links` for a share of a link, and both scopes for a"
    " share of an account."
)
_READABLE = "because anyone with the URL can read the counts."
_EXAMPLE = {"name": "Shop", "periods": ["7d", "30d"], "lists": True}

LIST_OF_SITE = Endpoint(
    method="GET",
    path="/v1/sites/{site_id}/shares",
    tag="reports",
    addition=True,
    summary="List the shares of a site",
    description="The list also contains shares that have ended because of `until`, or because the site was deleted.",
    scopes=("reports",),
    response=ShareList,
)
ADD_TO_SITE = Endpoint(
    method="POST",
    path="/v1/sites/{site_id}/shares",
    tag="reports",
    addition=True,
    action="share.create",
    summary="Share the counts of a site",
    description="The response contains the URL of a public page. The share ends when the site is deleted. While the"
    " site or its user is disabled, the page is not available.",
    scopes=("sites",),
    scopes_text=f"An API key needs both scopes, `sites` and `reports`, {_READABLE}",
    body=NewShare,
    response=OneShare,
    status=201,
    codes=("limit_reached", "site_not_active"),
    example=_EXAMPLE,
)
LIST_OF_LINK = Endpoint(
    method="GET",
    path="/v1/links/{link_id}/shares",
    tag="reports",
    addition=True,
    summary="List the shares of a link",
    description="The list also contains shares that have ended because of `until`, or because the link was deleted.",
    scopes=("reports",),
    response=ShareList,
)
ADD_TO_LINK = Endpoint(
    method="POST",
    path="/v1/links/{link_id}/shares",
    tag="reports",
    addition=True,
    action="share.create",
    summary="Share the counts of a link",
    description="The response contains the URL of a public page. The share ends when the link is deleted. While the"
    " link or its user is disabled, the page is not available.",
    scopes=("links",),
    scopes_text=f"An API key needs both scopes, `links` and `reports`, {_READABLE}",
    body=NewShare,
    response=OneShare,
    status=201,
    codes=("limit_reached",),
    example=_EXAMPLE,
)
LIST_OF_ACCOUNT = Endpoint(
    method="GET",
    path="/v1/accounts/{account_id}/shares",
    tag="reports",
    addition=True,
    summary="List the shares of an account",
    description="The list does not contain the shares of the account's sites and links.",
    scopes=("reports",),
    response=ShareList,
)
ADD_TO_ACCOUNT = Endpoint(
    method="POST",
    path="/v1/accounts/{account_id}/shares",
    tag="reports",
    addition=True,
    action="share.create",
    summary="Share the counts of all sites of an account",
    description="The response contains the URL of a public page, which lists the account's sites with their totals,"
    " and shows the report of each site. The share ends when the account is disconnected.",
    scopes=("sites", "links"),
    scopes_text=f"An API key needs the scopes `sites`, `links` and `reports`, {_READABLE}",
    body=NewShare,
    response=OneShare,
    status=201,
    codes=("limit_reached",),
    example={"name": "All sites"},
)
CHANGE = Endpoint(
    method="PATCH",
    path="/v1/shares/{share_id}",
    tag="reports",
    addition=True,
    action="share.change",
    summary="Change a share",
    description="The URL stays the same. A body that changes nothing is accepted.",
    scopes=("sites", "links"),
    scopes_text=f"{_SCOPES} It also needs `reports`, {_READABLE}",
    body=ShareChange,
    response=OneShare,
    example={"lists": False},
)
DELETE = Endpoint(
    method="DELETE",
    path="/v1/shares/{share_id}",
    tag="reports",
    addition=True,
    action="share.delete",
    summary="End a share",
    description="The URL stops working immediately.",
    scopes=("sites", "links"),
    scopes_text=_SCOPES,
    body=EmptyBody,
    response=Ok,
)

ENDPOINTS = (
    LIST_OF_SITE,
    ADD_TO_SITE,
    LIST_OF_LINK,
    ADD_TO_LINK,
    LIST_OF_ACCOUNT,
    ADD_TO_ACCOUNT,
    CHANGE,
    DELETE,
)
