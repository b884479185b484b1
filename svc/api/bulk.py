"""POST /v1/links/bulk: many links in one request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field
from pydantic_core import core_schema, to_json

from svc.api.endpoint import Endpoint
from svc.api.errors import ErrorObject
from svc.api.fields import HttpsUrl, Id, LinkCode
from svc.api.links import CODE, Link, Rules
from svc.api.shape import Answer, Body, may_be_absent, parse_body
from svc.errors import Invalid

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue

MOST_LINKS = 1_000
# What `[http] max_body_bytes` allows in the beginning: a thousand addresses of a thousand characters.
BULK_BYTES = 1_048_576
_MOST_ISSUES = 5  # of a row: a thousand rows may each have some


class LinkRow(Body):
    """A link to be made; its fields are those of POST /v1/links."""

    url: HttpsUrl
    code: LinkCode | None = Field(None, description=CODE)
    rules: Rules = Field((), description="As of POST /v1/links. Default: `[]`.")


class _AnyRow:
    """A row that is looked at later, by itself: what is wrong with it is its own error, and nobody else's."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        del source, handler
        return core_schema.any_schema()

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        del schema
        right = handler(LinkRow.__pydantic_core_schema__)
        return {"anyOf": [right, {"description": "Whatever else stands here gets an error of its own."}]}


class NewLinks(Body):
    """Links to be made in one account."""

    most_bytes: ClassVar[int] = BULK_BYTES
    # A thousand links with ten rules each, which name one country and one device: 63,000 and 32,000. Of links with more
    # countries fewer fit.
    most_values: ClassVar[int] = 70_000
    most_containers: ClassVar[int] = 35_000

    account_id: Id
    links: Annotated[
        tuple[Annotated[Any, _AnyRow], ...], Field(min_length=1, max_length=MOST_LINKS, description="At most 1,000.")
    ]


class Result(Answer):
    """What became of one link: it was made, or it was left out, and why."""

    link: Link | None = may_be_absent("The link that was made.")
    error: ErrorObject | None = may_be_absent(
        "Why it was not made: `invalid_request` with `details.issues`, as POST /v1/links has it, or `link_exists`."
    )


class Results(Answer):
    """A result a link, in their order."""

    results: tuple[Result, ...]


def row_of(value: object) -> LinkRow | Invalid:
    """A row, or what is wrong with it."""
    try:
        return parse_body(LinkRow, to_json(value))
    except Invalid as error:
        return Invalid(error.issues[:_MOST_ISSUES])


ADD_MANY = Endpoint(
    method="POST",
    path="/v1/links/bulk",
    tag="links",
    action="link.create",
    summary="Make many short links",
    description="All that can be made are made, in one transaction; each of the others has its error. Nothing is made"
    " where the request as a whole is refused: without a link host, and where the links would pass the limit. The body"
    " has at most 1 MiB, and 70,000 fields and items.",
    scopes=("links",),
    body=NewLinks,
    answer=Results,
    codes=("limit_reached", "not_found", "link_host_required"),
    example={
        "account_id": "acc_k3v5d2m7q4x6a5c3e7zp",
        "links": [{"url": "https://example.com/", "code": "spring-sale"}, {"url": "https://example.org/"}],
    },
)

ENDPOINTS = (ADD_MANY,)
