"""What every endpoint begins with: credential, Idempotency-Key, query, body; and what it ends with: an answer."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import trio
from pydantic_core import from_json
from quart import Response, g, request

from svc.errors import Invalid, ServiceError
from svc.http.bodies import Body, NoQuery, Q, parse_body, parse_query
from svc.http.credentials import Caller, Credentials, RateLimited, require
from svc.http.idempotency import Answered
from svc.http.wire import JSON_TYPE, dump
from svc.store.idempotency import Answer, Claim

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from quart_trio import QuartTrio

    from svc.http.credentials import IpAddress
    from svc.http.idempotency import Idempotency, Work
    from svc.model import Scope

T = TypeVar("T")
B = TypeVar("B", bound=Body)

_LONGEST_KEY = 200
# Characters. A cursor has at most 200, an id 25; the head of a request could bring 16,000.
_LONGEST_QUERY = 1_000


@dataclass(frozen=True)
class Call(Generic[B]):
    """A request that changes something: who, what, and under which Idempotency-Key."""

    caller: Caller
    body: B
    claim: Claim | None


class Gate:
    """Shared by all resources."""

    def __init__(self, credentials: Credentials, idempotency: Idempotency) -> None:
        self._credentials = credentials
        self._idempotency = idempotency

    async def read(self, *scopes: Scope, session_only: bool = False) -> Caller:
        """The caller of a request that reads and takes no query. Raises Unauthorized, Forbidden, Invalid."""
        caller, _ = await self.read_query(NoQuery, *scopes, session_only=session_only)
        return caller

    async def read_query(self, query: type[Q], *scopes: Scope, session_only: bool = False) -> tuple[Caller, Q]:
        """The caller of a request that reads, and its query. Raises Unauthorized, Forbidden, Invalid."""
        caller = await self._caller(scopes, session_only=session_only)
        return caller, query_of(query)

    async def write(self, body: type[B], *scopes: Scope, session_only: bool = False) -> Call[B]:
        """The caller, body and claim of a request that changes something.

        Raises Unauthorized, Forbidden, Invalid, Conflict idempotency_conflict; Answered: it is a repeat.
        """
        caller = await self._caller(scopes, session_only=session_only)
        key = idempotency_key(required=caller.key is not None)
        query_of(NoQuery)
        raw = await raw_body(body.most_bytes)
        parsed = parse_body(body, raw)
        if key is None:
            return Call(caller, parsed, None)
        claim = Claim(caller.user.id, caller.edge_accounts, request.method, request.path, key, _digest(raw))
        earlier = await self._idempotency.recall(claim)
        if earlier is not None:  # before anything is looked up: what a repeat names may be gone by now
            raise Answered(earlier)
        return Call(caller, parsed, claim)

    async def once(
        self,
        call: Call[Any],
        work: Work[T],
        render: Callable[[T], Answer],
        replay: Callable[[T], Answer] | None = None,
    ) -> Response:
        """Do it once for the call's Idempotency-Key; see `Idempotency.once`."""
        return respond(await self._idempotency.once(call.claim, work, render, replay))

    def client(self) -> IpAddress | None:
        """The address of the client."""
        return self._credentials.client_address(request.remote_addr, request.headers.getlist("X-Forwarded-For"))

    async def _caller(self, scopes: tuple[Scope, ...], *, session_only: bool) -> Caller:
        try:
            caller, headers = await self._credentials.caller(request.headers.get("Authorization"), self.client())
        except RateLimited as error:
            g.headers = error.headers
            raise
        g.headers = headers
        require(caller, scopes, session_only=session_only)
        return caller


def _digest(raw: bytes) -> str:
    """Digest of the parsed body: the order of its fields and white space do not matter."""
    said = json.dumps(from_json(raw or b"{}"), sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()


def route(app: QuartTrio, method: str, path: str, handler: Callable[..., Awaitable[Response]]) -> None:
    """Put a handler under its method and path."""
    app.add_url_rule(path, f"{method} {path}", handler, methods=[method])


def idempotency_key(*, required: bool) -> str | None:
    """The request's Idempotency-Key (rules G1, G2). Raises Invalid."""
    values = request.headers.getlist("Idempotency-Key")
    if not values:
        if required:
            raise Invalid([("Idempotency-Key", "this header is required with an API key")])
        return None
    try:
        # The framework reads headers as Latin-1; people who write other letters send UTF-8.
        key = values[0].encode("latin-1").decode()
    except UnicodeDecodeError:
        key = ""
    if len(values) > 1 or not 1 <= len(key) <= _LONGEST_KEY or not key.isprintable():
        raise Invalid([("Idempotency-Key", f"must come once, with 1 to {_LONGEST_KEY} characters, in UTF-8")])
    return key


def query_of(query: type[Q]) -> Q:
    """The request's query. Raises Invalid."""
    if len(request.query_string) > _LONGEST_QUERY:
        raise Invalid([("", f"the query must have at most {_LONGEST_QUERY} characters")])
    return parse_query(query, request.args.to_dict(flat=False))


async def raw_body(most_bytes: int | None = None) -> bytes:
    """The request's body; not read beyond `most_bytes` (None: beyond `[http] max_body_bytes`).

    Raises Invalid when it is not said to be JSON or does not come in time; ServiceError payload_too_large;
    HTTPException: larger than anything may be.
    """
    most = most_bytes or request.max_content_length or math.inf
    if (request.content_length or 0) > most:
        raise ServiceError("payload_too_large")
    raw = bytearray()
    with trio.move_on_after(request.body_timeout or math.inf) as reading:
        async for data in request.body:
            raw += data
            if len(raw) > most:
                raise ServiceError("payload_too_large")
    if reading.cancelled_caught:
        raise Invalid([("", "the body did not arrive in time")])
    if raw and request.mimetype != JSON_TYPE:
        raise Invalid([("Content-Type", f"must be {JSON_TYPE}")])
    return bytes(raw)


async def body_of(body: type[B]) -> B:
    """The request's body, of an endpoint without a credential. Raises Invalid, ServiceError payload_too_large."""
    query_of(NoQuery)
    idempotency_key(required=False)
    return parse_body(body, await raw_body(body.most_bytes))


def answer(value: Mapping[str, object], status: int = 200) -> Answer:
    """A JSON answer."""
    return Answer(status, dump(value), JSON_TYPE, {})


def respond(it: Answer) -> Response:
    """An answer as the framework's response."""
    return Response(it.body, it.status, headers=it.headers, content_type=it.content_type)


def reply(value: Mapping[str, object], status: int = 200) -> Response:
    """A JSON answer as the framework's response."""
    return respond(answer(value, status))
