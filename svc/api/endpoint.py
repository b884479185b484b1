"""The form in which an endpoint is declared: everything that its clients have to know of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Generic, Literal

from pydantic import BaseModel
from typing_extensions import TypeVar

from svc.api.shape import Answer, NoBody, NoQuery, Query
from svc.errors import CATALOGUE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc.errors import Code
    from svc.model import Action, Scope

B = TypeVar("B", bound=BaseModel, default=NoBody)
Q = TypeVar("Q", bound=Query, default=NoQuery)

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Tag = Literal["sign-in", "me", "events", "keys", "accounts", "sites", "links", "reports", "worker", "service"]
# Who may: a page session or an API key with one of `scopes`; a page session only; an installed worker with its key;
# whoever has the cookie of a page session; anybody.
Access = Literal["user", "session", "worker", "cookie", "anybody"]

JSON_TYPE = "application/json"

# What each kind of object's id begins with; the name is that of the path's parameter.
ID_PREFIXES: Mapping[str, str] = {
    "account_id": "acc",
    "site_id": "site",
    "link_id": "lnk",
    "key_id": "key",
    "session_id": "ses",
}

_PARAMETER = re.compile(r"{(\w+)}")


@dataclass(frozen=True, kw_only=True)
class Endpoint(Generic[B, Q]):
    """One method on one path, as its clients see it.

    `codes`: what it refuses with, beyond what follows from the rest (see `all_codes`). `body` None: it takes none and
    ignores one. `answer`: what it answers as JSON, beside which it may have other `media_types`; None: those alone.
    `cookies`: it may set some. `signs_out`: it may end the session that asks, and tells the browser so. `action`: the
    word for what it changes in the user's events (svc/api/events.py); who declares a write says so, or that it changes
    "nothing". `leaving`: it ends with its user, so that no answer is kept for an Idempotency-Key; the session that
    asked may ask again until then.
    """

    method: Method
    path: str  # "/v1/links/{link_id}"; at most one parameter
    tag: Tag
    summary: str
    answer: type[Answer] | None
    description: str = ""
    access: Access = "user"
    scopes: tuple[Scope, ...] = ()  # any one of them; (): any credential
    action: Action | Literal["nothing"] | None = None
    status: int = 200
    query: type[Q] | None = None
    body: type[B] | None = None
    codes: tuple[Code, ...] = ()
    media_types: tuple[str, ...] = (JSON_TYPE,)
    cookies: bool = False
    signs_out: bool = False
    leaving: bool = False
    example: Mapping[str, object] = field(default_factory=dict)  # of a body
    token_page: str | None = None  # the edge platform's page for the bootstrap token that it takes, filled in

    def __post_init__(self) -> None:
        """Raises ValueError: a write that does not say what it changes."""
        if self.changes and self.action is None:
            raise ValueError(f"{self.method} {self.path} may change something: declare its action")

    @cached_property
    def id_name(self) -> str | None:
        """The name of the path's parameter: one of ID_PREFIXES."""
        found = _PARAMETER.search(self.path)
        return None if found is None else found[1]

    @property
    def changes(self) -> bool:
        """Whether it may change something for a user, once for an Idempotency-Key (rule G1)."""
        return self.method != "GET" and self.access in ("user", "session")

    @property
    def is_form(self) -> bool:
        """Whether it takes a body from whoever has no credential: a form of /auth, for pages of the service itself."""
        return self.body is not None and self.access in ("anybody", "cookie")

    @property
    def operation_id(self) -> str:
        """A name for programs: `post_v1_links`, `get_v1_links_link_id`."""
        words = re.findall(r"[a-zA-Z0-9]+", self.path)
        return "_".join([self.method.lower(), *words])

    @property
    def all_codes(self) -> tuple[Code, ...]:
        """Every code that a request to it may be refused with, by status."""
        codes: set[Code] = {"invalid_request", "internal", "busy", *self.codes}
        if self.is_form:
            codes.add("cross_origin")
        if self.access != "anybody":
            codes.add("unauthorized")
        if self.access in ("user", "session"):
            codes.add("rate_limited")
        if self.access == "session":
            codes.add("session_required")
        if self.scopes:
            codes.add("scope_required")
        if self.method != "GET":
            codes.add("payload_too_large")
        if self.changes and not self.leaving:
            codes.add("idempotency_conflict")
        if self.id_name is not None:
            codes.add("not_found")
        return tuple(sorted(codes, key=lambda code: (CATALOGUE[code].status, code)))
