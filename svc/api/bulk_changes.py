"""PATCH and DELETE /v1/links/bulk: change or delete many links in one request."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, WithJsonSchema, field_validator

from svc.api.ascii_forms import search_forms
from svc.api.endpoint import Endpoint
from svc.api.errors import ErrorObject
from svc.api.fields import Count, Id, ShortSearch, Wrong
from svc.api.link_texts import Tag, Tags
from svc.api.links import LINK_BYTES, LinkChange
from svc.api.shape import LARGE_BYTES, Body, ResponseBody, optional_field
from svc.errors import Invalid, Issue
from svc.model import MAX_LINK_IDS, MAX_LINKS_SELECTED, NO_NUL


def _not_empty(most_chars: int) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "minLength": 1, "maxLength": most_chars, "pattern": NO_NUL})


class LinkSelector(Body):
    """A filter. An empty object selects all of your links that are not deleted. Fields cannot be null or empty."""

    account_id: Annotated[Id, Field(min_length=1), _not_empty(100)] | None = optional_field(
        "Only links of this account. Default: all accounts."
    )
    q: Annotated[ShortSearch, Field(min_length=1), _not_empty(50)] | None = optional_field(
        "Only links whose code, URL or title contains this text. Case is ignored. Default: all links."
    )
    tag: Tag | None = optional_field("Only links with this tag. Default: all links.")

    @field_validator("account_id", "q", "tag", mode="before")
    @classmethod
    def _reject_null(cls, value: object) -> object:
        # If null were accepted, a client that sends null by mistake would change or delete all links.
        if value is None:
            raise Wrong("must not be null; omit the field to select links with any value", "not_text")
        return value

    @property
    def contains(self) -> tuple[str, ...]:
        """The forms of `q` to search for in codes and URLs."""
        return search_forms(self.q or "")


class LinkSelection(Body):
    """The links to change or delete. The body has exactly one of `ids` and `filter`."""

    most_bytes: ClassVar[int] = LINK_BYTES + LARGE_BYTES
    most_values: ClassVar[int] = 6_000

    ids: Annotated[tuple[Id, ...], Field(min_length=1, max_length=MAX_LINK_IDS, fail_fast=True)] | None = Field(
        None, description=f"The ids of 1 to {MAX_LINK_IDS:,} links."
    )
    filter: LinkSelector | None = Field(
        None,
        description="All links that match this filter when the request runs. The request fails if more than"
        f" {MAX_LINKS_SELECTED:,} links match.",
    )
    dry_run: bool = Field(False, description="Only return what the request would do. Default: `false`.")

    def check(self) -> None:
        """Raise Invalid unless the body has exactly one of `ids` and `filter`."""
        if (self.ids is None) == (self.filter is None):
            raise Invalid([Issue("", "must have exactly one of ids and filter", "other")])


class LinksChange(LinkSelection):
    """Changes to many links. `set` is applied first, then `remove_tags`, then `add_tags`."""

    set: LinkChange | None = Field(None, description="The fields to change, as in PATCH /v1/links/{link_id}.")
    add_tags: Tags = Field((), description="Tags to add. Default: `[]`.")
    remove_tags: Tags = Field((), description="Tags to remove. Default: `[]`.")


class LinkOutcome(ResponseBody):
    """The result for one link. `code` is absent if no link has this `id`."""

    id: str
    code: str | None = optional_field()
    changed: bool = Field(
        description="True if the link was changed or deleted. With `dry_run`, true if the link would"
        " be changed or deleted."
    )
    error: ErrorObject | None = optional_field(
        "The reason why the link was not changed: `not_found`, `link_disabled`, or `invalid_request` with"
        " `details.issues`."
    )


class LinkOutcomes(ResponseBody):
    """One result per link, in the order of `ids`. If the request has a `filter`, the oldest link comes first."""

    results: tuple[LinkOutcome, ...] = Field(json_schema_extra={"maxItems": MAX_LINKS_SELECTED})
    changed: Count = Field(
        description="The number of links that were changed or deleted. With `dry_run`, the number"
        " of links that would be changed or deleted."
    )
    dry_run: bool


_ALL_OR_NOTHING = (
    " The request fails if the rules and variants that it has to read or write are too large in total."
    " If the request as a whole fails, no link is changed or deleted. If individual links cannot be changed or deleted,"
    " their results contain errors, and the request still applies to the other links."
)
CHANGE_MANY = Endpoint(
    method="PATCH",
    path="/v1/links/bulk",
    tag="links",
    addition=True,
    action="link.change",
    summary="Change many links",
    description=f"Sets fields of many links, or adds and removes tags.{_ALL_OR_NOTHING}",
    scopes=("links",),
    body=LinksChange,
    response=LinkOutcomes,
    example={"filter": {"tag": "spring"}, "set": {"note": "Ended"}, "add_tags": ["archive"], "dry_run": True},
)
DELETE_MANY = Endpoint(
    method="DELETE",
    path="/v1/links/bulk",
    tag="links",
    addition=True,
    action="link.delete",
    summary="Delete many links",
    description=f"Deletes links as DELETE /v1/links/{{link_id}} does.{_ALL_OR_NOTHING}",
    scopes=("links",),
    body=LinkSelection,
    response=LinkOutcomes,
    example={"filter": {"tag": "archive"}, "dry_run": True},
)

ENDPOINTS = (CHANGE_MANY, DELETE_MANY)
