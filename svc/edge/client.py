"""The one HTTP client of the service: how a call to the edge platform is made, repeated and given up.

`open_edge` owns the connections; `Edge.access` binds them to one edge account and one token; the functions of
tokens, zones, workers, d1, routes and analytics take that Access. A token never shows in a repr, a log or an error.
"""

from __future__ import annotations

import math
import random
import re
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import quote

import httpx
import trio
from pydantic import SecretStr, TypeAdapter, ValidationError

from svc.edge.answers import Envelope, Failed, Shape, compact, no_answer, read, too_large, unreadable
from svc.edge.shares import Shares
from svc.errors import EdgeError, EdgeRefused

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Hashable

    from svc.config import EdgeConfig
    from svc.errors import Code

T = TypeVar("T")
Query = dict[str, str | int]
Files = dict[str, tuple[str | None, bytes, str]]

# httpcore #1093: a request cancelled while the pool is contended leaks its slot for ever. So callers wait for their
# share, never for the pool.
POOL_MARGIN = 8
FIRST_WAIT_S = 0.25
LONGEST_WAIT_S = 4.0
LONGEST_SETTLING_WAIT_S = 15.0
# A refused credential is asked about again this often before it is believed: the platform refuses good tokens now and
# then (10000 and 7403 in its users' reports), and our users would be told that theirs is broken.
CREDENTIAL_REPEATS = 3
# The platform blocks a token for five minutes once it went over its limit; only a short block is waited out here.
LONGEST_THROTTLE_S = 5.0
# A database belongs to the customer, who may put anything into it; an answer must not fill our memory.
MAX_ANSWER_BYTES = 16 * 1024 * 1024
PAGE_SIZE = 50  # platform docs: zones take 5 to 50
MAX_PASSES = 4
# A change whose answer was lost may still be carried out for a while; what is looked up after this time is the truth.
LATE_MS = 3_600_000

_NOT_FOUND = 404
# What a header can carry. Anything else that somebody pasted as a token is not sent: httpx would quote it in its error
# message.
_TOKEN = re.compile(r"[\x21-\x7e]{1,1024}")
_JITTER = random.SystemRandom()


class _Own(Shape):
    status: str


@dataclass(frozen=True)
class Call:
    """One call. `repeatable`: sending it twice does the same as once. `files`: multipart form parts."""

    method: str
    path: str
    query: Query | None = None
    body: object = None
    files: Files | None = None
    repeatable: bool = True
    graph: bool = False  # a GraphQL query: it reads only, and its answer has no envelope


@dataclass(frozen=True)
class Bearer:
    """Who calls: a token on an edge account. `user_id`: whose share of the calls under way it takes; None: nobody's."""

    edge_account_id: str
    token: SecretStr
    user_id: int | None


class Access:
    """One edge account, seen with one token. Made by Edge.access; its repr shows no token."""

    def __init__(self, edge: Edge, bearer: Bearer, settling_until: float = -math.inf) -> None:
        self._edge = edge
        self._bearer = bearer
        self._settling_until = settling_until
        edge_account_id = bearer.edge_account_id
        self.edge_account_id = edge_account_id
        self.account_path = f"/accounts/{quote(edge_account_id, safe='')}"

    def __repr__(self) -> str:
        return f"Access({self.edge_account_id!r})"

    def settling(self, seconds: float) -> Access:
        """The same access with a token that was just made: for `seconds`, 401 and 403 are repeated.

        (For a settled one they are repeated CREDENTIAL_REPEATS times.)

        A new token takes up to about a minute to work everywhere (platform field reports).
        """
        return Access(self._edge, self._bearer, trio.current_time() + seconds)

    async def call(
        self,
        shape: type[T],
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: object = None,
        files: Files | None = None,
        repeatable: bool,
    ) -> T:
        """The `result` of the answer. Raises EdgeRefused, EdgeUnavailable; EdgeUnknown when not `repeatable`."""
        _, result = await self._result(shape, Call(method, path, query, body, files, repeatable))
        return result

    async def ask(self, shape: type[T], query: str, variables: dict[str, object]) -> T:
        """The `data` of a GraphQL query. Raises EdgeRefused (also when a part of it failed), EdgeUnavailable."""
        body = {"query": query, "variables": variables}
        _, data = await self._result(shape, Call("POST", "/graphql", body=body, graph=True))
        return data

    async def get(self, shape: type[T], path: str, query: Query | None = None) -> T:
        """GET what must be there. Raises EdgeRefused (a 404, too), EdgeUnavailable."""
        return await self.call(shape, "GET", path, query=query, repeatable=True)

    async def find(self, shape: type[T], path: str, query: Query | None = None) -> T | None:
        """GET what may be missing: None for the platform's own 404. Raises EdgeRefused, EdgeUnavailable."""
        try:
            return await self.get(shape, path, query)
        except EdgeRefused as refused:
            if refused.remote_status != _NOT_FOUND:
                raise
            return None

    async def delete(self, path: str) -> bool:
        """DELETE; False when it was gone, or went with an earlier try whose answer was lost.

        Raises EdgeRefused, EdgeUnavailable.
        """
        try:
            await self.call(object, "DELETE", path, repeatable=True)
        except EdgeRefused as refused:
            if refused.remote_status != _NOT_FOUND:
                raise
            return False
        return True

    async def collect(self, item: type[T], path: str, query: Query, limit: int | None = None) -> list[T]:
        """All items of a list that comes in pages, or `limit` of them, each once. Raises EdgeRefused, EdgeUnavailable.

        A list that changes between two pages may skip an item: while the stated total says that one is missing, the
        list is read again, until a pass brings nothing new.
        """
        found: dict[T, None] = {}
        for _ in range(MAX_PASSES):
            known = len(found)
            total = await self._pass(item, path, query, limit, found)
            if total is None or len(found) >= total or len(found) == known or _full(found, limit):
                break
        return list(found)[:limit]

    async def _pass(
        self, item: type[T], path: str, query: Query, limit: int | None, found: dict[T, None]
    ) -> int | None:
        """Reads pages 1, 2, … into `found`; the total that the platform states, if it does.

        A page may be shorter than asked for; only the total, an empty page or the lack of any page data ends a list.
        """
        page, seen, total = 1, 0, None
        while True:
            call = Call("GET", path, {"per_page": PAGE_SIZE, **query, "page": page})
            envelope, items = await self._result(list[item], call)  # type: ignore[valid-type]
            found.update(dict.fromkeys(items))
            seen += len(items)
            info = envelope.result_info
            if info is None or not items or _full(found, limit):
                return total
            total = info.total_count if info.total_count is not None else total
            if (total is not None and seen >= total) or (info.total_pages is not None and page >= info.total_pages):
                return total
            page += 1

    async def _result(self, shape: type[T], call: Call) -> tuple[Envelope, T]:
        outcome = await self._tried(shape, call)
        if not isinstance(outcome, Failed):
            return outcome
        if outcome.error.code in ("permission_error", "revoked"):
            raise await self._judged(outcome.error, call)
        raise outcome.error

    async def _judged(self, refused: EdgeError, call: Call) -> EdgeError:
        """What a refused credential means: the platform's codes do not say, the token's own check does.

        403/10000 is said of a dead token and of a missing right alike; 403/9109 also of a zone that is not there.
        """
        own_path = f"{self.account_path}/tokens/verify"
        if call.path == own_path:
            return _refused("revoked", refused)
        own = await self._tried(_Own, Call("GET", own_path))
        if not isinstance(own, Failed):
            return _refused("permission_error" if own[1].status == "active" else "revoked", refused)
        # A check that failed for another reason leaves it open: nobody may conclude anything about the token.
        return _refused("revoked", refused) if isinstance(own.error, EdgeRefused) else own.error

    async def _tried(self, shape: type[T], call: Call) -> tuple[Envelope, T] | Failed:
        repeats = refusals = 0
        while True:
            outcome = await self._edge.once(self._bearer, shape, call)
            if not isinstance(outcome, Failed):
                return outcome
            if outcome.repeat == "credential":
                wait_s = min(self._edge.first_wait_s * 2.0**refusals, LONGEST_SETTLING_WAIT_S)
                refusals += 1
                if refusals > CREDENTIAL_REPEATS and trio.current_time() + wait_s > self._settling_until:
                    return outcome
            else:
                pause_s = self._edge.pause_s(outcome, call, repeats)
                if pause_s is None:
                    return outcome
                wait_s = pause_s
                repeats += 1
            await trio.sleep(wait_s)


class Edge:
    """The edge platform, over one pool of connections. Made by open_edge."""

    def __init__(self, config: EdgeConfig, client: httpx.AsyncClient, first_wait_s: float) -> None:
        self._client = client
        self._shares = Shares(
            config.concurrency, per_account=config.concurrency_per_account, per_user=config.concurrency_per_user
        )
        self._base_url = config.api_base_url
        self._timeout_s = config.timeout_s
        self._retries = config.retries
        self.first_wait_s = first_wait_s

    def access(self, edge_account_id: str, token: str, user_id: int | None = None) -> Access:
        """The edge account as `token` may see it; its calls are counted for the user."""
        return Access(self, Bearer(edge_account_id, SecretStr(token), user_id))

    def pause_s(self, failed: Failed, call: Call, repeats: int) -> float | None:
        """Seconds to wait before the next try of `call` after `repeats` repeats; None: give up."""
        may = failed.repeat == "always" or (failed.repeat == "repeatable" and call.repeatable)
        if not may or repeats >= self._retries:
            return None
        if failed.wait_s is not None:
            return failed.wait_s if failed.wait_s <= LONGEST_THROTTLE_S else None
        # Half of it random: calls that failed together do not come back together.
        return min(self.first_wait_s * 2.0**repeats, LONGEST_WAIT_S) * _JITTER.uniform(0.5, 1)

    async def once(self, bearer: Bearer, shape: type[T], call: Call) -> tuple[Envelope, T] | Failed:
        """One try of `call`."""
        secret = bearer.token.get_secret_value()
        if not _TOKEN.fullmatch(secret):
            return Failed(EdgeRefused("revoked", "This is not a valid token."), "never")
        answer = await self._sent(bearer, call)
        if isinstance(answer, Failed):
            return answer
        status, body, retry_after = answer
        envelope = read(status, body, retry_after, repeatable=call.repeatable, secret=secret, graph=call.graph)
        if isinstance(envelope, Failed):
            return envelope
        try:
            return envelope, _adapter(cast("Hashable", shape)).validate_python(envelope.result)
        except ValidationError as problem:
            return unreadable(problem, status, repeatable=call.repeatable)

    async def _sent(self, bearer: Bearer, call: Call) -> tuple[int, bytes, str | None] | Failed:
        """Status, body and Retry-After. The exchange has `timeout_s`, so has the wait for a place."""
        began = False
        with trio.move_on_after(self._timeout_s) as deadline:
            try:
                async with self._shares.place(bearer.edge_account_id, bearer.user_id):
                    began = True
                    deadline.deadline = trio.current_time() + self._timeout_s
                    return await self._exchange(bearer.token, call)
            except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
                what = f"The edge platform cannot be reached ({type(error).__name__})"
                return no_answer(what, sent=False, repeatable=call.repeatable)
            except (httpx.TransportError, httpx.DecodingError) as error:
                what = f"The edge platform did not answer ({type(error).__name__})"
                return no_answer(what, sent=True, repeatable=call.repeatable)
        if not began:
            return no_answer("Too many calls to the edge platform are under way", sent=False, repeatable=True)
        what = f"The edge platform did not answer within {self._timeout_s:g} s"
        return no_answer(what, sent=True, repeatable=call.repeatable)

    async def _exchange(self, token: SecretStr, call: Call) -> tuple[int, bytes, str | None] | Failed:
        headers = {"Authorization": f"Bearer {token.get_secret_value()}"}
        content = None if call.body is None else compact(call.body)
        if content is not None:
            headers["Content-Type"] = "application/json"
        request = self._client.build_request(
            call.method,
            self._base_url + call.path,
            params=call.query,
            content=content,
            files=call.files,
            headers=headers,
        )
        response = await self._client.send(request, stream=True)
        body = bytearray()
        try:
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > MAX_ANSWER_BYTES:
                    # Close the response to make the loop raise. A `break` would leave httpx's nested async generators
                    # unfinished, and Trio warns about each.
                    await response.aclose()
        except httpx.TransportError:
            if len(body) <= MAX_ANSWER_BYTES:
                raise
        finally:
            await response.aclose()  # httpcore shields what must be done of it, also when this is cancelled
        if len(body) > MAX_ANSWER_BYTES:
            return too_large(response.status_code, repeatable=call.repeatable)
        return response.status_code, bytes(body), response.headers.get("Retry-After")


@asynccontextmanager
async def open_edge(config: EdgeConfig, *, first_wait_s: float = FIRST_WAIT_S) -> AsyncIterator[Edge]:
    """The edge platform's client, for as long as the block lasts. `first_wait_s`: before the first repeat."""
    limits = httpx.Limits(
        max_connections=config.concurrency + POOL_MARGIN,
        max_keepalive_connections=config.concurrency,
        keepalive_expiry=15,
    )
    client = httpx.AsyncClient(
        # One client: making one loads the CA certificates, 21 ms. No proxies and no .netrc from the environment; no
        # redirects, which would carry the token elsewhere; no cookies, which would mix the accounts.
        timeout=httpx.Timeout(config.timeout_s, connect=min(config.timeout_s, 5)),
        limits=limits,
        trust_env=False,
        follow_redirects=False,
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        headers={"User-Agent": "svc", "Accept": "application/json"},
    )
    async with client:
        yield Edge(config, client, first_wait_s)


@cache
def _adapter(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(shape)


def _full(found: dict[T, None], limit: int | None) -> bool:
    return limit is not None and len(found) >= limit


def _refused(code: Code, refused: EdgeError) -> EdgeRefused:
    return EdgeRefused(code, refused.message, remote_status=refused.remote_status, remote_code=refused.remote_code)
