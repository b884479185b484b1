"""The declaration of an endpoint, which contains everything that the service and API clients need to know about it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Generic, Literal

from pydantic import BaseModel
from typing_extensions import TypeVar

from svc.api.shape import EmptyBody, NoQuery, Query, ResponseBody
from svc.errors import CATALOGUE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc.errors import Code
    from svc.model import Action, Scope

B = TypeVar("B", bound=BaseModel, default=EmptyBody)
Q = TypeVar("Q", bound=Query, default=NoQuery)

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Tag = Literal["sign-in", "me", "events", "keys", "accounts", "sites", "links", "reports", "shares", "worker", "service"]
# user: a sign-in session, or an API key with one of `scopes`. session: a sign-in session only. worker: an installed
# Worker, which sends its key. cookie: the refresh cookie of a sign-in session. anybody: no credential is needed.
Access = Literal["user", "session", "worker", "cookie", "anybody"]

JSON_TYPE = "application/json"
HTML_TYPE = "text/html"

# Path parameter → prefix of the ids that it accepts.
ID_PREFIXES: Mapping[str, str] = {
    "account_id": "acc",
    "site_id": "site",
    "link_id": "lnk",
    "note_id": "note",
    "share_id": "shr",
    "secret": "shs",
    "token": "mlt",
    "key_id": "key",
    "session_id": "ses",
}

# The path parameter that contains a user's text instead of an id.
TAG_PARAMETER = "tag"

_PARAMETER = re.compile(r"{(\w+)}")


@dataclass(frozen=True, kw_only=True)
class Endpoint(Generic[B, Q]):
    """A method on a path.

    `codes`: error codes in addition to those that the other fields imply (see `all_codes`).
    `body`: None if the endpoint ignores the body.
    `response`: the JSON response; None if the endpoint has only other `media_types`.
    `cookies`: the response may set cookies.
    `signs_out`: the endpoint may end the caller's session. If it does, the response has the header Clear-Site-Data.
    `action`: the event that a write records (svc/api/events.py), or "nothing".
    `addition`: the endpoint is not part of the original API specification.
    `leaving`: the endpoint deletes the user, so the service stores no response for an Idempotency-Key. Until the
    deletion has ended, the session that sent the request can repeat it.
    """

    method: Method
    path: str  # such as "/v1/links/{link_id}"; at most one parameter, or two if no credential is needed
    tag: Tag
    summary: str
    response: type[ResponseBody] | None
    description: str = ""
    access: Access = "user"
    scopes: tuple[Scope, ...] = ()  # an API key needs one of these scopes; empty if it needs none
    scopes_text: str = ""  # what the documentation says about scopes if one of `scopes` is not enough
    action: Action | Literal["nothing"] | None = None
    status: int = 200
    query: type[Q] | None = None
    body: type[B] | None = None
    codes: tuple[Code, ...] = ()
    media_types: tuple[str, ...] = (JSON_TYPE,)
    error_pages: tuple[int, ...] = ()  # the statuses of errors for which browsers get a page instead of JSON
    cookies: bool = False
    signs_out: bool = False
    leaving: bool = False
    addition: bool = False
    example: Mapping[str, object] = field(default_factory=dict)  # example of a body
    token_page: str | None = None  # URL of Cloudflare's prefilled form for the bootstrap token

    def __post_init__(self) -> None:
        """Raise ValueError if the endpoint is a write request without an `action`."""
        if self.changes and self.action is None:
            raise ValueError(f"{self.method} {self.path} may change something: declare its action")

    @cached_property
    def id_names(self) -> tuple[str, ...]:
        """The names of the path parameters. Each is a key of ID_PREFIXES, or TAG_PARAMETER."""
        return tuple(_PARAMETER.findall(self.path))

    @property
    def changes(self) -> bool:
        """True if the endpoint writes on behalf of a user and therefore accepts an Idempotency-Key."""
        return self.method != "GET" and self.access in ("user", "session")

    @property
    def is_form(self) -> bool:
        """True if the endpoint is a form, which accepts a body without an `Authorization` header."""
        return self.body is not None and self.access in ("anybody", "cookie")

    @property
    def operation_id(self) -> str:
        """The OpenAPI operationId, such as `post_v1_links` or `get_v1_links_link_id`."""
        words = re.findall(r"[a-zA-Z0-9]+", self.path)
        return "_".join([self.method.lower(), *words])

    @property
    def all_codes(self) -> tuple[Code, ...]:
        """All error codes with which the endpoint can respond, ordered by HTTP status."""
        codes: set[Code] = {"invalid_request", "internal", "busy", *self.codes}
        if self.is_form:
            codes.add("cross_origin")
        if self.access != "anybody":
            codes.add("unauthorized")
        if self.access in ("user", "session"):
            codes |= {"rate_limited", "user_disabled"}
        if self.access == "session":
            codes.add("session_required")
        if self.scopes:
            codes.add("scope_required")
        if self.method != "GET":
            codes.add("payload_too_large")
        if self.changes and not self.leaving:
            codes.add("idempotency_conflict")
        if self.id_names:
            codes.add("not_found")
        return tuple(sorted(codes, key=lambda code: (CATALOGUE[code].status, code)))
