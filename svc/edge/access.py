"""API calls for one Cloudflare account with one token, including retries and paging.

`Edge.access` creates an Access object. The functions in tokens, zones, workers, d1, routes, analytics and web_analytics
take this object as their first argument.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol, TypeVar
from urllib.parse import quote

import trio

from svc.edge.responses import Envelope, Failed, Shape
from svc.errors import EdgeError, EdgeGone, EdgeRefused

if TYPE_CHECKING:
    from pydantic import SecretStr

    from svc.edge.responses import Retry
    from svc.errors import Code

T = TypeVar("T")
Query = dict[str, str | int]
Codes = frozenset[int]
Files = dict[str, tuple[str | None, bytes, str]]

PAGE_SIZE = 50  # the largest page size that Cloudflare documents for zones
MAX_PASSES = 4
# The time within which Cloudflare may still apply a change whose response was lost.
LATE_MS = 3_600_000

_JITTER = random.SystemRandom()


class _TokenStatus(Shape):
    status: str


@dataclass(frozen=True)
class Exchange:
    """A request to the API.

    `path`: relative to the API's base URL. `files`: multipart form parts, by name, as (file name, content, content
    type). `repeatable`: True if the request is idempotent. `graphql`: True for a GraphQL query, whose response is not
    in Cloudflare's usual envelope. `gone`: Cloudflare's numeric codes, which differ between products, for an object
    that does not exist.
    """

    method: str
    path: str
    query: Query | None = None
    body: object = field(default=None, repr=False)  # hidden because, like `files`, it can contain a secret
    files: Files | None = field(default=None, repr=False)
    repeatable: bool = True
    graphql: bool = False
    gone: Codes = frozenset()


@dataclass(frozen=True)
class Bearer:
    """The account and token of a call, and the limits that apply to it.

    `user_id`: the user whose limit on concurrent calls applies, or None if only the account's limit applies. `awaited`:
    True if a user is waiting for the response. The call may then use the token's full rate limit (call_limits.py).
    """

    edge_account_id: str
    token: SecretStr
    user_id: int | None
    awaited: bool = False


class Client(Protocol):
    """The part of the HTTP client that Access uses: a single attempt, and the retry policy."""

    retry: Retry

    async def try_once(self, bearer: Bearer, shape: type[T], exchange: Exchange) -> tuple[Envelope, T] | Failed:
        """Send the request once. Return the envelope and its `result` parsed as `shape`, or the failure.

        Errors of the API are returned and not raised.
        """
        raise NotImplementedError


class Access:
    """API calls for one Cloudflare account with one token. The repr does not show the token."""

    def __init__(self, client: Client, bearer: Bearer, settling_until: float = -math.inf) -> None:
        self._client = client
        self._bearer = bearer
        self._settling_until = settling_until
        self.edge_account_id = bearer.edge_account_id
        self.account_path = f"/accounts/{quote(bearer.edge_account_id, safe='')}"

    def __repr__(self) -> str:
        return f"Access({self.edge_account_id!r})"

    def settling(self, seconds: float) -> Access:
        """Return an Access object for a new token.

        For this number of seconds, the object keeps retrying calls that fail with 401 or 403.

        According to users of Cloudflare, a new token can take about a minute to work everywhere. With other tokens,
        such calls are retried only a few times (responses.CREDENTIAL_WAITS).
        """
        return Access(self._client, self._bearer, trio.current_time() + seconds)

    def awaited(self) -> Access:
        """Return an Access object for a request that a user is waiting for.

        Its calls may use the reserved part of the token's rate limit.
        """
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
        """Return the `result` of a call.

        Raises EdgeRefused or EdgeUnavailable. If the call is not `repeatable`, it can also raise EdgeUnknown.
        """
        _, result = await self._result(shape, Exchange(method, path, query, body, files, repeatable))
        return result

    async def graphql(self, shape: type[T], query: str, variables: dict[str, object]) -> T:
        """Return the `data` of a GraphQL query.

        Raises EdgeUnavailable or EdgeRefused. EdgeRefused can also mean that only part of the query failed.
        """
        body = {"query": query, "variables": variables}
        _, data = await self._result(shape, Exchange("POST", "/graphql", body=body, graphql=True))
        return data

    async def get(self, shape: type[T], path: str, query: Query | None = None) -> T:
        """GET an object that must exist. Raises EdgeRefused, or EdgeUnavailable (also for a 404)."""
        return await self.call(shape, "GET", path, query=query, repeatable=True)

    async def find(self, shape: type[T], path: str, gone: Codes) -> T | None:
        """GET an object, or return None for a 404 with one of the codes in `gone`.

        Raises EdgeRefused or EdgeUnavailable.
        """
        try:
            _, result = await self._result(shape, Exchange("GET", path, gone=gone))
        except EdgeGone:
            return None
        return result

    async def delete(self, path: str, gone: Codes) -> bool:
        """DELETE an object. Return False if the object did not exist, or if an earlier attempt had already deleted it.

        `gone`: as in `find`. Raises EdgeRefused or EdgeUnavailable.
        """
        try:
            await self._result(object, Exchange("DELETE", path, gone=gone))
        except EdgeGone:
            return False
        return True

    async def collect(self, item: type[T], path: str, query: Query, limit: int | None = None) -> list[T]:
        """Return all items in a paged list, without duplicates, or the first `limit` items.

        If the list changes during the read, an item can be skipped. If the reported total shows that items are missing,
        the method reads the list again until a pass finds no new items. Raises EdgeRefused or EdgeUnavailable.
        """
        collected: dict[T, None] = {}
        for _ in range(MAX_PASSES):
            known = len(collected)
            total = await self._pass(item, path, query, limit, collected)
            if total is None or len(collected) >= total or len(collected) == known or _full(collected, limit):
                break
        return list(collected)[:limit]

    async def _pass(
        self, item: type[T], path: str, query: Query, limit: int | None, collected: dict[T, None]
    ) -> int | None:
        """Read pages 1, 2, … into `collected`. Return the total that the API reported, or None.

        The list ends when the total is reached, when a page has no new items (some endpoints ignore `page`), or when
        the response has no paging data. A page with few items is not always the last one.
        """
        page, seen, total = 1, 0, None
        known: set[T] = set()
        while True:
            exchange = Exchange("GET", path, {"per_page": PAGE_SIZE, **query, "page": page})
            envelope, items = await self._result(list[item], exchange)  # type: ignore[valid-type]
            collected.update(dict.fromkeys(items))
            seen += len(items)
            info = envelope.result_info
            if info is None or known.issuperset(items) or _full(collected, limit):
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
        """Check the token's status, and return the error for a call that was refused because of the token.

        The check is necessary because Cloudflare's codes are ambiguous: 403/10000 means an invalid token or a missing
        permission, and 403/9109 can also mean a missing zone. The error `revoked` means that Cloudflare reports the
        token as disabled or expired. `token_refused` means that Cloudflare rejects the token, which may have been
        deleted or may still be valid.
        """
        verify_path = f"{self.account_path}/tokens/verify"
        if exchange.path == verify_path:
            return _refused("token_refused", refused)
        own = await self._try(_TokenStatus, Exchange("GET", verify_path))
        if not isinstance(own, Failed):
            return _refused("permission_error" if own[1].status == "active" else "revoked", refused)
        # If the check failed for any reason other than a refusal, the state of the token is unknown.
        return _refused("token_refused", refused) if isinstance(own.error, EdgeRefused) else own.error

    async def _try(self, shape: type[T], exchange: Exchange) -> tuple[Envelope, T] | Failed:
        """Retry the request until it succeeds or the retry policy gives up."""
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


def _full(items: dict[T, None], limit: int | None) -> bool:
    return limit is not None and len(items) >= limit


def _refused(code: Code, refused: EdgeError) -> EdgeRefused:
    return EdgeRefused(code, refused.message, remote_status=refused.remote_status, remote_code=refused.remote_code)
