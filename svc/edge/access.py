"""One edge account, seen with one token: how its API is called, tried again, and read page by page.

The functions of tokens, zones, workers, d1, routes and analytics take an Access; `Edge.access` makes it.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol, TypeVar
from urllib.parse import quote

import trio

from svc.edge.answers import Envelope, Failed, Shape
from svc.errors import EdgeError, EdgeGone, EdgeRefused

if TYPE_CHECKING:
    from pydantic import SecretStr

    from svc.edge.answers import Retry
    from svc.errors import Code

T = TypeVar("T")
Query = dict[str, str | int]
Codes = frozenset[int]
Files = dict[str, tuple[str | None, bytes, str]]

PAGE_SIZE = 50  # platform docs: zones take 5 to 50
MAX_PASSES = 4
# A change whose answer was lost may still be carried out for a while; what is looked up after this time is the truth.
LATE_MS = 3_600_000

_JITTER = random.SystemRandom()


class _TokenStatus(Shape):
    status: str


@dataclass(frozen=True)
class Exchange:
    """A request to the API. `path`: below its base URL. `files`: multipart form parts: file name, content, type.

    `repeatable`: sending it twice does the same as once. `graphql`: it only reads, and its answer has no envelope.
    `gone`: the numeric codes by which the product says that what the path names is not there.
    """

    method: str
    path: str
    query: Query | None = None
    body: object = field(default=None, repr=False)  # may hold a secret, like `files`
    files: Files | None = field(default=None, repr=False)
    repeatable: bool = True
    graphql: bool = False
    gone: Codes = frozenset()


@dataclass(frozen=True)
class Bearer:
    """Who calls: a token on an edge account. `user_id`: whose share of the calls under way it takes; None: nobody's.

    `awaited`: a person waits for the call, so it may use up what the platform allows the token (see pace.py).
    """

    edge_account_id: str
    token: SecretStr
    user_id: int | None
    awaited: bool = False


class Client(Protocol):
    """What an Access needs of the HTTP client: a single try, and how often and when to try again."""

    retry: Retry

    async def try_once(self, bearer: Bearer, shape: type[T], exchange: Exchange) -> tuple[Envelope, T] | Failed:
        """The envelope and its `result` as a `shape`, or what went wrong. Never raises what the platform caused."""
        raise NotImplementedError


class Access:
    """One edge account, seen with one token. Its repr shows no token."""

    def __init__(self, client: Client, bearer: Bearer, settling_until: float = -math.inf) -> None:
        self._client = client
        self._bearer = bearer
        self._settling_until = settling_until
        self.edge_account_id = bearer.edge_account_id
        self.account_path = f"/accounts/{quote(bearer.edge_account_id, safe='')}"

    def __repr__(self) -> str:
        return f"Access({self.edge_account_id!r})"

    def settling(self, seconds: float) -> Access:
        """The same access with a token that was just made: for `seconds`, 401 and 403 are tried again.

        (For a settled one a few times only, see answers.CREDENTIAL_WAITS.) A new token takes up to about a minute to
        work everywhere (platform field reports).
        """
        return Access(self._client, self._bearer, trio.current_time() + seconds)

    def awaited(self) -> Access:
        """The same access for a request that a person waits for: its calls come before those of the duties."""
        return Access(self._client, replace(self._bearer, awaited=True), self._settling_until)

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
        _, result = await self._result(shape, Exchange(method, path, query, body, files, repeatable))
        return result

    async def graphql(self, shape: type[T], query: str, variables: dict[str, object]) -> T:
        """The `data` of a GraphQL query. Raises EdgeRefused (also when a part of it failed), EdgeUnavailable."""
        body = {"query": query, "variables": variables}
        _, data = await self._result(shape, Exchange("POST", "/graphql", body=body, graphql=True))
        return data

    async def get(self, shape: type[T], path: str, query: Query | None = None) -> T:
        """GET what must be there. Raises EdgeRefused, EdgeUnavailable (a 404, too)."""
        return await self.call(shape, "GET", path, query=query, repeatable=True)

    async def find(self, shape: type[T], path: str, gone: Codes) -> T | None:
        """GET what may be missing: None for a 404 with one of the product's codes for that.

        Raises EdgeRefused, EdgeUnavailable.
        """
        try:
            _, found = await self._result(shape, Exchange("GET", path, gone=gone))
        except EdgeGone:
            return None
        return found

    async def delete(self, path: str, gone: Codes) -> bool:
        """DELETE; False when it was gone (see `find`), or went with an earlier try whose answer was lost.

        Raises EdgeRefused, EdgeUnavailable.
        """
        try:
            await self._result(object, Exchange("DELETE", path, gone=gone))
        except EdgeGone:
            return False
        return True

    async def collect(self, item: type[T], path: str, query: Query, limit: int | None = None) -> list[T]:
        """All items of a list that comes in pages, or `limit` of them, each once. Raises EdgeRefused, EdgeUnavailable.

        A list that changes between two pages may skip an item: while the stated total shows that one is missing, the
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
        """Read pages 1, 2, … into `found`; the total that the platform states, if it does.

        A page may be shorter than asked for; only the total, a page that brings nothing new (none of a pass is read
        twice from an endpoint that ignores `page`) or the lack of any page data ends a list.
        """
        page, seen, total = 1, 0, None
        known: set[T] = set()
        while True:
            exchange = Exchange("GET", path, {"per_page": PAGE_SIZE, **query, "page": page})
            envelope, items = await self._result(list[item], exchange)  # type: ignore[valid-type]
            found.update(dict.fromkeys(items))
            seen += len(items)
            info = envelope.result_info
            if info is None or known.issuperset(items) or _full(found, limit):
                return total
            known.update(items)
            total = info.total_count if info.total_count is not None else total
            if (total is not None and seen >= total) or (info.total_pages is not None and page >= info.total_pages):
                return total
            page += 1

    async def _result(self, shape: type[T], exchange: Exchange) -> tuple[Envelope, T]:
        outcome = await self._try(shape, exchange)
        if not isinstance(outcome, Failed):
            return outcome
        if outcome.error.code in ("permission_error", "token_refused"):
            raise await self._judged(outcome.error, exchange)
        raise outcome.error

    async def _judged(self, refused: EdgeError, exchange: Exchange) -> EdgeError:
        """What a refused credential means: the platform's codes do not tell, the token's own check does.

        403/10000 comes for a dead token and for a missing right alike; 403/9109 also for a zone that is not there.
        `revoked` is what the platform says of a token that it knows; one that it refuses, `token_refused`, may be gone
        or as good as ever.
        """
        verify_path = f"{self.account_path}/tokens/verify"
        if exchange.path == verify_path:
            return _refused("token_refused", refused)
        own = await self._try(_TokenStatus, Exchange("GET", verify_path))
        if not isinstance(own, Failed):
            return _refused("permission_error" if own[1].status == "active" else "revoked", refused)
        # A check that failed for another reason leaves it open: nobody may conclude anything about the token.
        return _refused("token_refused", refused) if isinstance(own.error, EdgeRefused) else own.error

    async def _try(self, shape: type[T], exchange: Exchange) -> tuple[Envelope, T] | Failed:
        """Try until it works or there is no use in another try."""
        retry = self._client.retry
        while True:
            outcome = await self._client.try_once(self._bearer, shape, exchange)
            if not isinstance(outcome, Failed):
                return outcome
            settling_s = self._settling_until - trio.current_time()
            jitter = _JITTER.uniform(0.5, 1)
            wait_s = retry.wait_s(outcome, repeatable=exchange.repeatable, settling_s=settling_s, jitter=jitter)
            if wait_s is None:
                return outcome
            await trio.sleep(wait_s)
            retry = retry.counted(outcome)


def _full(found: dict[T, None], limit: int | None) -> bool:
    return limit is not None and len(found) >= limit


def _refused(code: Code, refused: EdgeError) -> EdgeRefused:
    return EdgeRefused(code, refused.message, remote_status=refused.remote_status, remote_code=refused.remote_code)
