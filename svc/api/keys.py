"""/v1/keys: API keys. Only sign-in sessions can manage them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import AfterValidator, Field

from svc.api.endpoint import Endpoint
from svc.api.fields import Day, EdgeAccountId, Moment, Name, Network, Wrong
from svc.api.shape import LARGE_BYTES, Body, EmptyBody, Ok, ResponseBody
from svc.model import Scope
from svc.security.api_key import PATTERN

if TYPE_CHECKING:
    from svc import model


def _not_empty(value: tuple[Scope, ...]) -> tuple[Scope, ...]:
    if not value:
        raise Wrong("must have at least one item", "too_few", 1)
    return value


class NewKey(Body):
    """An API key to create. If `allow_accounts` or `allow_ips` is null, that restriction does not apply."""

    most_bytes: ClassVar[int] = LARGE_BYTES

    scopes: Annotated[
        tuple[Scope, ...],
        Field(max_length=4, fail_fast=True, json_schema_extra={"minItems": 1}),
        AfterValidator(_not_empty),
    ]
    name: Name | None = Field(None, description="A name that describes the key's purpose.")
    allow_accounts: Annotated[tuple[EdgeAccountId, ...], Field(max_length=1000, fail_fast=True)] | None = Field(
        None, description="The ids of the Cloudflare accounts that the key can access."
    )
    allow_ips: Annotated[tuple[Network, ...], Field(max_length=100, fail_fast=True)] | None = Field(
        None, description="The IP addresses and ranges from which the key is accepted."
    )


class KeyChange(Body):
    """A key's new name."""

    name: Name


class Key(ResponseBody):
    """An API key without its value."""

    id: str
    name: str | None
    prefix: str = Field(description="The beginning of the key's value, which helps to identify a leaked key.")
    scopes: tuple[Scope, ...]
    allow_accounts: tuple[str, ...] | None
    allow_ips: tuple[str, ...] | None
    created_at: Moment
    last_used: Day | None


class IssuedKey(Key):
    """A new API key with its value."""

    key: str = Field(
        pattern=f"^{PATTERN}$",
        description="The key's value, which only this response contains. The last six characters are a checksum (CRC-32"
        " in base 62) of the 30 random characters before them, so secret scanners can recognize a key.",
    )

    @classmethod
    def from_model(cls, key: model.Key, value: str) -> IssuedKey:
        """Return the response for a new key with its value."""
        return cls(**Key.model_validate(key).__dict__, key=value)


class KeyList(ResponseBody):
    """The user's API keys, oldest first."""

    keys: tuple[Key, ...]


LIST = Endpoint(
    method="GET", path="/v1/keys", tag="keys", summary="List your API keys", response=KeyList, access="session"
)
ISSUE = Endpoint(
    method="POST",
    path="/v1/keys",
    tag="keys",
    action="key.issue",
    summary="Create an API key",
    description="Only this response contains the key's value. A repeated request with the same Idempotency-Key fails"
    " with `key_already_issued`.",
    access="session",
    body=NewKey,
    response=IssuedKey,
    status=201,
    codes=("limit_reached", "key_already_issued"),
    example={"scopes": ["links", "reports"], "name": "nightly report", "allow_ips": ["192.0.2.0/24"]},
)
RENAME = Endpoint(
    method="PATCH",
    path="/v1/keys/{key_id}",
    tag="keys",
    addition=True,
    action="key.change",
    summary="Rename an API key",
    description="You cannot change a key's scopes or restrictions.",
    access="session",
    body=KeyChange,
    response=Key,
    example={"name": "nightly report"},
)
REVOKE = Endpoint(
    method="DELETE",
    path="/v1/keys/{key_id}",
    tag="keys",
    action="key.revoke",
    summary="Revoke an API key",
    description="The key stops working immediately. New requests with the key fail with `unauthorized`, and so do"
    " write requests whose body has not arrived yet. The service aborts streamed responses (exports, totals, and"
    " ZIP files and pages of QR codes), but completes all other requests that are in progress.",
    access="session",
    body=EmptyBody,
    response=Ok,
)

ENDPOINTS = (LIST, ISSUE, RENAME, REVOKE)
