"""The HTTP client for Cloudflare's API. The client sends each request once; `access.py` adds retries.

`open_edge` opens the connection pool. `Edge.access` returns an object for calls with one account and token. Tokens
never appear in a repr, a log or an error.
"""

from __future__ import annotations

import re
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, Any, TypeVar, cast

import httpx
import trio
from pydantic import SecretStr, TypeAdapter, ValidationError

from svc.edge.access import Access, Bearer
from svc.edge.bounded_body import read_body
from svc.edge.call_limits import CallLimits
from svc.edge.endpoints import area_from_path
from svc.edge.fair_limiter import FairLimiter
from svc.edge.responses import Failed, HttpResponse, Retry, compact, no_response, read, too_large, unreadable
from svc.edge.tls import trusted
from svc.errors import EdgeGone, EdgeRefused, EdgeUnknown
from svc.metrics import CALL_SECONDS, CALL_WAIT, CALLS_HELD_BACK, CALLS_RUNNING, CALLS_WAITING, Metrics

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Hashable

    from svc.config import EdgeConfig
    from svc.edge.access import Exchange
    from svc.edge.responses import Envelope

T = TypeVar("T")

# The number of connections that the pool has in addition to the limiter's slots. Calls therefore wait only in the
# limiter, never for the pool. This matters because a request that is cancelled while it waits for the pool permanently
# leaks its connection (httpcore #1093).
POOL_MARGIN = 8
FIRST_WAIT_S = 0.25
# Maximum size of a response. The limit protects the service's memory, because customers can store any data in their
# databases.
MAX_ANSWER_BYTES = 16 * 1024 * 1024
_HTTP_THROTTLED = 429

# The characters that are allowed in a header. Tokens with other characters are not sent, because httpx would quote them
# in its error message.
_TOKEN = re.compile(r"[\x21-\x7e]{1,1024}")


class Edge:
    """The client for Cloudflare's API, with a connection pool. Use open_edge to create one."""

    def __init__(self, config: EdgeConfig, client: httpx.AsyncClient, first_wait_s: float, metrics: Metrics) -> None:
        self._client = client
        self._metrics = metrics
        self._limiter = FairLimiter(
            config.concurrency, per_account=config.concurrency_per_account, per_user=config.concurrency_per_user
        )
        self._call_limits = CallLimits(config.calls_per_token, config.calls_per_second)
        self._base_url = config.api_base_url
        self._timeout_s = config.timeout_s
        self.retry = Retry(config.retries, first_wait_s)
        metrics.at_scrape(self._show_load)

    def access(self, edge_account_id: str, token: str, user_id: int | None = None) -> Access:
        """Return an Access object for the account with this token.

        The calls of this object count toward the user's limit on concurrent calls.
        """
        return Access(self, Bearer(edge_account_id, SecretStr(token), user_id))

    async def try_once(self, bearer: Bearer, shape: type[T], exchange: Exchange) -> tuple[Envelope, T] | Failed:
        """Send a request once, and return the result or the failure."""
        secret = bearer.token.get_secret_value()
        if not _TOKEN.fullmatch(secret):
            return Failed(EdgeRefused("token_refused", "The token contains invalid characters."), "never")
        call = _Call()
        try:
            tried = await self._exchanged(bearer, shape, exchange, secret, call)
            call.outcome = _outcome(tried)
        finally:
            if call.sent_at is not None:
                took_s = trio.current_time() - call.sent_at
                self._metrics.observe(CALL_SECONDS, took_s, area_from_path(exchange.path), call.outcome)
        return tried

    async def _exchanged(
        self, bearer: Bearer, shape: type[T], exchange: Exchange, secret: str, call: _Call
    ) -> tuple[Envelope, T] | Failed:
        response = await self._respond(bearer, exchange, call)
        if isinstance(response, Failed):
            return response
        envelope = read(
            response, repeatable=exchange.repeatable, secret=secret, graphql=exchange.graphql, gone=exchange.gone
        )
        if isinstance(envelope, Failed):
            return envelope
        try:
            return envelope, _adapter(cast("Hashable", shape)).validate_python(envelope.result)
        except ValidationError as problem:
            return unreadable(problem, response.status, repeatable=exchange.repeatable)

    async def _respond(self, bearer: Bearer, exchange: Exchange, call: _Call) -> HttpResponse | Failed:
        """Wait for a slot, then send the request and receive the response.

        `timeout_s` limits the wait for a slot and, separately, the request with its response.
        """
        began = False
        asked_at = trio.current_time()
        with trio.move_on_after(self._timeout_s) as deadline:
            try:
                async with self._limiter.slot(bearer.edge_account_id, bearer.user_id):
                    too_many = self._call_limits.count(bearer)
                    if too_many is not None:
                        self._metrics.count(CALLS_HELD_BACK, "pace")
                        return too_many
                    await self._call_limits.wait()
                    began = True
                    call.sent_at = trio.current_time()
                    self._metrics.observe(CALL_WAIT, call.sent_at - asked_at)
                    deadline.deadline = trio.current_time() + self._timeout_s
                    return await self._send_and_receive(bearer.token, exchange)
            except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
                what = f"Cloudflare cannot be reached ({type(error).__name__})"
                return no_response(what, sent=False, repeatable=exchange.repeatable)
            except (httpx.TransportError, httpx.DecodingError) as error:
                what = f"Cloudflare did not respond ({type(error).__name__})"
                return no_response(what, sent=True, repeatable=exchange.repeatable)
        if not began:
            self._metrics.count(CALLS_HELD_BACK, "crowded")
            return no_response("Too many calls to Cloudflare are in progress", sent=False, repeatable=True)
        what = f"Cloudflare did not respond within {self._timeout_s:g} s"
        return no_response(what, sent=True, repeatable=exchange.repeatable)

    def _show_load(self) -> None:
        self._metrics.set(CALLS_RUNNING, self._limiter.held)
        self._metrics.set(CALLS_WAITING, self._limiter.waiting)

    async def _send_and_receive(self, token: SecretStr, exchange: Exchange) -> HttpResponse | Failed:
        headers = {"Authorization": f"Bearer {token.get_secret_value()}"}
        content = None if exchange.body is None else compact(exchange.body)
        if content is not None:
            headers["Content-Type"] = "application/json"
        request = self._client.build_request(
            exchange.method,
            self._base_url + exchange.path,
            params=exchange.query,
            content=content,
            files=exchange.files,
            headers=headers,
        )
        request.stream = WholeBody(await request.aread())
        response = await self._client.send(request, stream=True)
        try:
            body = await read_body(response, response.aiter_bytes(), MAX_ANSWER_BYTES)
        finally:
            await response.aclose()  # httpcore shields the cleanup from cancellation
        if len(body) > MAX_ANSWER_BYTES:
            return too_large(response.status_code, repeatable=exchange.repeatable)
        return HttpResponse(
            response.status_code, body, response.headers.get("Retry-After"), response.headers.get("cf-ray")
        )


@dataclass
class _Call:
    """The time when an attempt was sent (None if it was not sent) and its outcome. Both are for the metrics."""

    sent_at: float | None = None
    outcome: str = "cancelled"


def _outcome(tried: object) -> str:
    if not isinstance(tried, Failed):
        return "ok"
    error = tried.error
    if error.remote_status == _HTTP_THROTTLED:
        return "throttled"
    if isinstance(error, EdgeGone):
        return "missing"
    if isinstance(error, EdgeRefused):
        return "refused"
    return "unknown" if isinstance(error, EdgeUnknown) else "unavailable"


class WholeBody(httpx.AsyncByteStream):
    """A request body in one chunk.

    It replaces httpx's async generator, about which Trio would warn if a call were cancelled.
    """

    def __init__(self, content: bytes) -> None:
        self._chunks = [content]

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if not self._chunks:
            raise StopAsyncIteration
        return self._chunks.pop()


@asynccontextmanager
async def open_edge(
    config: EdgeConfig, *, first_wait_s: float = FIRST_WAIT_S, metrics: Metrics | None = None
) -> AsyncIterator[Edge]:
    """Open the client for the duration of the block. `first_wait_s`: the delay before the first retry."""
    limits = httpx.Limits(
        max_connections=config.concurrency + POOL_MARGIN,
        max_keepalive_connections=config.concurrency,
        keepalive_expiry=15,
    )
    client = httpx.AsyncClient(
        # Ignore the environment's proxies and .netrc. Do not follow redirects, because they could send the token
        # elsewhere. Do not store cookies, because accounts would share them.
        timeout=httpx.Timeout(config.timeout_s, connect=min(config.timeout_s, 5)),
        limits=limits,
        verify=trusted(),
        trust_env=False,
        follow_redirects=False,
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        headers={"User-Agent": "svc", "Accept": "application/json"},
    )
    async with client:
        yield Edge(config, client, first_wait_s, metrics or Metrics())


@cache
def _adapter(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(shape)
