"""/v1/keys: API keys, for the page session only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import AfterValidator, Field

from svc.api.endpoint import Endpoint
from svc.api.fields import Day, EdgeAccountId, Moment, Name, Network, Wrong
from svc.api.shape import LARGE_BYTES, Answer, Body, NoBody, Ok
from svc.model import Scope
from svc.security.api_key import PATTERN

if TYPE_CHECKING:
    from svc import model


def _not_empty(value: tuple[Scope, ...]) -> tuple[Scope, ...]:
    if not value:
        raise Wrong("must have at least one item", "too_few", 1)
    return value


class NewKey(Body):
    """A key to be issued. null for a restriction: none."""

    most_bytes: ClassVar[int] = LARGE_BYTES

    scopes: Annotated[
        tuple[Scope, ...],
        Field(max_length=4, fail_fast=True, json_schema_extra={"minItems": 1}),
        AfterValidator(_not_empty),
    ]
    name: Name | None = Field(None, description="What it is for, to tell one's keys apart.")
    allow_accounts: Annotated[tuple[EdgeAccountId, ...], Field(max_length=1000, fail_fast=True)] | None = Field(
        None, description="The edge accounts that the key sees, by their own ids."
    )
    allow_ips: Annotated[tuple[Network, ...], Field(max_length=100, fail_fast=True)] | None = Field(
        None, description="The client addresses from which the key is accepted."
    )


class KeyChange(Body):
    """A key's new name."""

    name: Name


class Key(Answer):
    """An API key as the list shows it: never its value."""

    id: str
    name: str | None
    prefix: str = Field(description="The beginning of its value: enough to find a key that has leaked.")
    scopes: tuple[Scope, ...]
    allow_accounts: tuple[str, ...] | None
    allow_ips: tuple[str, ...] | None
    created_at: Moment
    last_used: Day | None


class IssuedKey(Key):
    """A key just issued: the only answer with its value."""

    key: str = Field(
        pattern=f"^{PATTERN}$",
        description="The key's value: it is shown this once. Its last six characters are a checksum of the 30 random"
        " ones (CRC-32 in base 62), so that scanners for leaked secrets recognise it.",
    )

    @classmethod
    def of(cls, key: model.Key, value: str) -> IssuedKey:
        """A key and its value."""
        return cls(**Key.model_validate(key).__dict__, key=value)


class KeyList(Answer):
    """A user's keys, oldest first."""

    keys: tuple[Key, ...]


LIST = Endpoint(
    method="GET", path="/v1/keys", tag="keys", summary="List your API keys", answer=KeyList, access="session"
)
ISSUE = Endpoint(
    method="POST",
    path="/v1/keys",
    tag="keys",
    action="key.issue",
    summary="Issue an API key",
    description="The answer holds the key's value, this once: the same request again gets `key_already_issued`.",
    access="session",
    body=NewKey,
    answer=IssuedKey,
    status=201,
    codes=("limit_reached", "key_already_issued"),
    example={"scopes": ["links", "reports"], "name": "nightly report", "allow_ips": ["192.0.2.0/24"]},
)
RENAME = Endpoint(
    method="PATCH",
    path="/v1/keys/{key_id}",
    tag="keys",
    action="key.change",
    summary="Give an API key another name",
    description="An addition to the specification. What the key may do never changes.",
    access="session",
    body=KeyChange,
    answer=Key,
    example={"name": "nightly report"},
)
REVOKE = Endpoint(
    method="DELETE",
    path="/v1/keys/{key_id}",
    tag="keys",
    action="key.revoke",
    summary="End an API key at once",
    description="The next request with it is `unauthorized`, and so is a write whose body was not there yet; a stream"
    " that it reads (an export, totals) breaks off. Any other request that was let in before is carried out.",
    access="session",
    body=NoBody,
    answer=Ok,
)

ENDPOINTS = (LIST, ISSUE, RENAME, REVOKE)
