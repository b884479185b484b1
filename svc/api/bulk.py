"""POST /v1/links/bulk: create many links in one request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field
from pydantic_core import core_schema, to_json

from svc.api.endpoint import Endpoint
from svc.api.errors import ErrorObject
from svc.api.fields import Id
from svc.api.links import Link, LinkRow
from svc.api.shape import Body, ResponseBody, optional_field, parse_body
from svc.errors import Invalid

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue

MAX_LINKS = 1_000
# The default of `[http] max_body_bytes`. A body of this size can contain a thousand URLs of a thousand characters.
BULK_BYTES = 1_048_576
_MAX_ISSUES = 5  # per row, because each of a thousand rows can have issues


class _AnyRow:
    """A row that is validated later.

    Each row is validated separately, so that its issues affect only its own result.
    """

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        del source, handler
        return core_schema.any_schema()

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        del schema
        valid = handler(LinkRow.__pydantic_core_schema__)
        return {"anyOf": [valid, {"description": "Any other value is also accepted, but its result is an error."}]}


class NewLinks(Body):
    """Links to create in one account."""

    most_bytes: ClassVar[int] = BULK_BYTES
    # A thousand links with ten rules and ten tags each have 76,000 values in 33,000 containers if each rule has one
    # country and one device. If rules have more countries, fewer links fit.
    most_values: ClassVar[int] = 85_000
    most_containers: ClassVar[int] = 35_000

    account_id: Id
    links: Annotated[
        tuple[Annotated[Any, _AnyRow], ...],
        Field(min_length=1, max_length=MAX_LINKS, description="At most 1,000 links."),
    ]


class Result(ResponseBody):
    """The result for one link: the created link or an error."""

    link: Link | None = optional_field("The created link.")
    error: ErrorObject | None = optional_field(
        "The reason why the link was not created: `link_exists`, `link_disabled` or `invalid_request`. For"
        " `invalid_request`, `details.issues` contains at most five issues."
    )


class Results(ResponseBody):
    """One result per link, in the order of the request."""

    results: tuple[Result, ...]


def row_of(value: object) -> LinkRow | Invalid:
    """Return the validated row, or the error with at most five issues of the row."""
    try:
        return parse_body(LinkRow, to_json(value))
    except Invalid as error:
        return Invalid(error.issues[:_MAX_ISSUES])


ADD_MANY = Endpoint(
    method="POST",
    path="/v1/links/bulk",
    tag="links",
    addition=True,
    action="link.create",
    summary="Create many short links",
    description="The service creates all valid links in one transaction. For every other link, the result contains an"
    " error. If the account has no link host, or the new links would exceed your limit, the service rejects the whole"
    " request and creates no links. The body can be at most 1 MiB, with at most 85,000 fields and list items in"
    " total.",
    scopes=("links",),
    body=NewLinks,
    response=Results,
    codes=("limit_reached", "not_found", "link_host_required"),
    example={
        "account_id": "acc_k3v5d2m7q4x6a5c3e7zp",
        "links": [{"url": "https://example.com/", "code": "spring-sale"}, {"url": "https://example.org/"}],
    },
)

ENDPOINTS = (ADD_MANY,)
