"""The one way into a handler: an endpoint's declaration (svc/api) is what is checked before it and sent after it.

    credential ─► scopes ─► Idempotency-Key ─► query ─► path id ─► body ─► earlier answer ─► handler ─► answer

What comes in is checked in this order, so that nobody learns of an object what its credential does not allow, and a
body is not read for a stranger.
"""

from __future__ import annotations

import hashlib
import json
import math
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

import trio
from pydantic_core import from_json
from quart import g, request

from svc.api.endpoint import ID_PREFIXES, JSON_TYPE
from svc.api.shape import LARGE_BYTES, Body, NoQuery, Query, parse_body, parse_query
from svc.errors import Forbidden, Invalid, Issue, NotFound
from svc.http.serving.answers import Streamed, response_of, stored, to_response
from svc.http.serving.credentials import Caller, Credentials, RateLimited, require
from svc.http.serving.direct import not_json, read_body
from svc.http.serving.origin import is_from_elsewhere
from svc.http.serving.routes import name_of, routes
from svc.ids import is_id
from svc.model import OWN_ACTIONS, Event
from svc.store.idempotency import Claim

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from quart import Response
    from quart_trio import QuartTrio

    from svc.api.endpoint import Endpoint
    from svc.api.shape import Answer
    from svc.http.resources.password_check import PasswordCheck
    from svc.http.serving.credentials import IpAddress
    from svc.http.serving.direct import Handler
    from svc.http.serving.idempotency import Idempotency
    from svc.model import Account, Action, FormerAccount
    from svc.store.idempotency import StoredAnswer
    from svc.store.tx import Tx

T = TypeVar("T")
B = TypeVar("B", bound=Body)
Q = TypeVar("Q", bound=Query)

_LONGEST_KEY = 200
# Characters. A cursor has at most 200, an id 25; the head of a request could bring 16,000.
_LONGEST_QUERY = 1_000


@dataclass(frozen=True)
class Read(Generic[Q]):
    """A request that reads: who asks, for which object ("" where the path names none), and the query."""

    caller: Caller
    id: str
    query: Q


@dataclass(frozen=True)
class Write(Generic[B]):
    """A request that changes something: who, which object ("" where the path names none), and the body."""

    caller: Caller
    id: str
    body: B
    _endpoint: Endpoint[Any, Any]
    _client: IpAddress | None
    claim: Claim | None  # what makes its repeat the same request
    _idempotency: Idempotency

    def commit(
        self,
        render: Callable[[T], Answer],
        replay: StoredAnswer | None = None,
        *,
        about: Account | FormerAccount | None = None,
        target: str | None = None,
        count: Callable[[T], int] | None = None,
    ) -> Callable[[Tx[T]], Tx[StoredAnswer]]:
        """What is put around the transaction of the effect, so that the answer commits with it (rules G1 to G5), and
        what is told of it in the user's events (rule X12).

        `render` makes the answer of what the transaction gives. It runs inside of it, on the engine's thread and
        maybe with the write lock held: pure and quick. `replay`: what a repeat gets where that is another answer.
        `about`: the account that it is about; without it, that of the value, or the user alone. `target`: the id of the
        object; without it that of the path, or of the value. `count`: how many changes it made, where not one.
        Raises ValueError: the endpoint's action is about an account, and none is named.
        """
        action = self._endpoint.action
        if action is None:
            raise ValueError(f"{self._endpoint.path} declares no action")

        def rendered(value: T) -> StoredAnswer:
            return stored(render(value), self._endpoint.status)

        def event(value: T, now: int) -> Event:
            edge_account_id = getattr(about or value, "edge_account_id", None)
            if edge_account_id is None and action not in OWN_ACTIONS:
                raise ValueError(f"{action} is about an account: name it")
            return Event(
                user_id=self.caller.user.id,
                at=now,
                via="session" if self.caller.key is None else self.caller.key.id,
                ip=None if self._client is None else str(self._client),
                action=cast("Action", action),
                target=target or self.id or getattr(value, "id", None),
                outcome="accepted" if self._endpoint.status == HTTPStatus.ACCEPTED else "done",
                edge_account_id=edge_account_id,
                count=1 if count is None else count(value),
            )

        return self._idempotency.committed(self.claim, rendered, replay, None if action == "nothing" else event)


class Serve:
    """Puts handlers behind their endpoints."""

    def __init__(
        self, app: QuartTrio, credentials: Credentials, idempotency: Idempotency, passwords: PasswordCheck, origin: str
    ) -> None:
        app.url_map = routes()
        self._app = app
        self._credentials = credentials
        self._idempotency = idempotency
        self._passwords = passwords
        self._origin = origin
        self.directly: dict[tuple[str, str], Handler] = {}  # by method and path
        self._large = trio.CapacityLimiter(1)  # large bodies that are read at once: threads share one interpreter

    def read(
        self, endpoint: Endpoint[Any, Q], handler: Callable[[Read[Q]], Awaitable[Answer | Response | Streamed]]
    ) -> None:
        """Serve a request that reads."""

        async def serve(**path: str) -> Response:
            caller = await self._caller(endpoint)
            query = query_of(endpoint)
            answer = await handler(Read(caller, path_id(endpoint, path), query))
            if isinstance(answer, Streamed):
                answer = replace(answer, pieces=self._while_valid(caller, answer.pieces))
            return to_response(answer, endpoint.status)

        self._add(endpoint, serve)

    def write(self, endpoint: Endpoint[B, Any], handler: Callable[[Write[B]], Awaitable[StoredAnswer]]) -> None:
        """Serve a request that changes something, once for its Idempotency-Key if answers are kept for one."""
        if endpoint.body is None:
            raise ValueError(f"{endpoint.path} changes something and takes no body: declare NoBody")
        model = endpoint.body

        async def serve(**path: str) -> Response:
            caller = await self._caller(endpoint)
            key = idempotency_key(required=caller.key is not None)
            if endpoint.leaving:
                key = None  # it is kept as long as its user
            query_of(endpoint)
            object_id = path_id(endpoint, path)
            raw = await raw_body(model.most_bytes)
            await self._credentials.check_not_revoked(caller)  # a body may come slowly
            slowly = key is not None and model.holds_password
            quickly = key is not None and not slowly
            body, digest = await self.without_delay(partial(_parsed, model, digested=quickly), raw)
            if slowly:
                digest = await self._passwords.digest(_canonical(raw), f"{caller.user.id} {key}")
            claim = None
            if key is not None:
                claim = Claim(caller.user.id, caller.edge_accounts, request.method, request.path, key, digest)
            write = Write(caller, object_id, body, endpoint, self._credentials.client(), claim, self._idempotency)
            return response_of(await self._idempotency.once(claim, lambda: handler(write)))

        self._add(endpoint, serve)

    def form(
        self,
        endpoint: Endpoint[B, Any],
        handler: Callable[[B], Awaitable[Answer | Response]],
        admit: Callable[[], None] | None = None,
    ) -> None:
        """Serve a form of /auth, which needs no credential: `admit` raises before a body is read.

        Pages of other sites are refused. What they send in ways that ask for no leave is never JSON, so that has to be
        said even of an empty body.
        """
        if endpoint.body is None:
            raise ValueError(f"{endpoint.path} is a form and takes no body: declare NoBody")
        model = endpoint.body

        async def serve() -> Response:
            headers = request.headers
            if is_from_elsewhere(headers.getlist("Sec-Fetch-Site"), headers.getlist("Origin"), self._origin):
                raise Forbidden("cross_origin")
            if admit is not None:
                admit()
            if request.mimetype != JSON_TYPE:
                raise not_json()
            query_of(endpoint)
            idempotency_key(required=False)
            body = parse_body(model, await raw_body(model.most_bytes))
            return to_response(await handler(body), endpoint.status)

        self._add(endpoint, serve)

    def open(self, endpoint: Endpoint[Any, Any], handler: Callable[[], Awaitable[Answer | Response]]) -> None:
        """Serve what anybody may read, or what checks its caller and body by itself."""

        async def serve() -> Response:
            return to_response(await handler(), endpoint.status)

        self._add(endpoint, serve)

    def direct(self, endpoint: Endpoint[Any, Any], handler: Handler) -> None:
        """Serve in front of the framework what comes often and checks its caller and body by itself.

        The framework knows the path, for other methods, and has nothing behind it. The path names no object.
        """
        self.directly[endpoint.method, endpoint.path] = handler

    async def without_delay(self, read: Callable[[bytes], T], raw: bytes) -> T:
        """What `read` makes of a body: of a large one in a thread, so that other requests do not wait for it."""
        if len(raw) <= LARGE_BYTES:
            return read(raw)
        return await trio.to_thread.run_sync(read, raw, limiter=self._large)

    def _add(self, endpoint: Endpoint[Any, Any], serve: Callable[..., Awaitable[Response]]) -> None:
        self._app.view_functions[name_of(endpoint)] = serve

    async def _while_valid(self, caller: Caller, pieces: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
        """The pieces, as long as the caller's key is not revoked: a slow reader may take hours. Raises Unauthorized."""
        async with aclosing(pieces):
            async for piece in pieces:
                await self._credentials.check_not_revoked(caller)
                yield piece

    async def _caller(self, endpoint: Endpoint[Any, Any]) -> Caller:
        """Who asks. Raises Unauthorized, Forbidden session_required, scope_required; ServiceError rate_limited."""
        try:
            caller, headers = await self._credentials.caller(
                request.headers.get("Authorization"), self._credentials.client(), leaving=endpoint.leaving
            )
        except RateLimited as error:
            g.headers = error.headers
            raise
        g.headers = headers
        require(caller, endpoint.scopes, session_only=endpoint.access == "session")
        return caller


def path_id(endpoint: Endpoint[Any, Any], path: dict[str, str]) -> str:
    """The id in the path, "" without one. Raises NotFound for what can be no id, so that the store never sees it."""
    name = endpoint.id_name
    if name is None:
        return ""
    if not is_id(ID_PREFIXES[name], path[name]):
        raise NotFound
    return path[name]


def idempotency_key(*, required: bool) -> str | None:
    """The request's Idempotency-Key (rules G1, G2). Raises Invalid."""
    values = request.headers.getlist("Idempotency-Key")
    if not values:
        if required:
            raise Invalid([Issue("Idempotency-Key", "this header is required with an API key")])
        return None
    try:
        # The framework reads headers as Latin-1; people who write other letters send UTF-8.
        key = values[0].encode("latin-1").decode()
    except UnicodeDecodeError:
        key = ""
    if len(values) > 1 or not 1 <= len(key) <= _LONGEST_KEY or not key.isprintable():
        raise Invalid([Issue("Idempotency-Key", f"must come once, with 1 to {_LONGEST_KEY} characters, in UTF-8")])
    return key


def query_of(endpoint: Endpoint[Any, Q]) -> Q:
    """The request's query. Raises Invalid."""
    if len(request.query_string) > _LONGEST_QUERY:
        raise Invalid([Issue("", f"the query must have at most {_LONGEST_QUERY} characters")])
    model: type[Any] = endpoint.query or NoQuery
    query: Q = parse_query(model, request.args.to_dict(flat=False))
    return query


async def raw_body(most_bytes: int | None = None) -> bytes:
    """The request's body; not read beyond `most_bytes` (None: beyond `[http] max_body_bytes`).

    Raises as `read_body` does; HTTPException: larger than anything may be.
    """
    return await read_body(
        request.body,
        most_bytes or request.max_content_length or math.inf,
        declared_bytes=request.content_length or 0,
        mimetype=request.mimetype,
        within_s=request.body_timeout or math.inf,
    )


def _parsed(model: type[B], raw: bytes, *, digested: bool) -> tuple[B, str]:
    """The body, and where it is to be `digested` its digest. Raises Invalid."""
    return parse_body(model, raw), _digest(raw) if digested else ""


def _digest(raw: bytes) -> str:
    return hashlib.sha256(_canonical(raw)).hexdigest()


def _canonical(raw: bytes) -> bytes:
    """The body in a form in which the order of its fields and white space do not matter."""
    return json.dumps(from_json(raw or b"{}"), sort_keys=True).encode()
