"""Authenticates requests by sign-in session or API key, and checks scopes, allowed addresses and rate limits.

Rules such as C4 are in docs/develop/conformance.md.
"""

from __future__ import annotations

import ipaddress
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

from svc.clock import day_of
from svc.errors import Forbidden, ServiceError, StoreUnavailable, Unauthorized
from svc.ids import digest
from svc.limits import SlidingLimit, Verdict
from svc.model import Scope
from svc.security import api_key
from svc.security.ip_networks import network_of
from svc.store import keys, sessions, user_deletions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.clock import Clock
    from svc.config import Config
    from svc.model import Key, User
    from svc.security.ip_networks import IpAddress, IpNetwork
    from svc.store.tx import Store

# The maximum number of proxies between a client and the service. Real proxies do not write longer X-Forwarded-For
# headers.
_MAX_HOPS = 16

# The combined rate limit of a user's sign-in sessions, as a multiple of an API key's limit. It is higher because a page
# sends several requests in parallel. The limit is far higher than people need, but prevents scripts from filling the
# disk.
_SESSION_SHARE = 5


@dataclass(frozen=True)
class Caller:
    """The authenticated user, and the credential. `key` is None for a sign-in session, which has all scopes.

    `session_id`: the id of the sign-in session. None for an API key, and for a session that ended because its user is
    being deleted.
    """

    user: User
    key: Key | None = None
    session_id: str | None = None

    @property
    def edge_accounts(self) -> tuple[str, ...] | None:
        """The ids of the Cloudflare accounts that the credential may access. None means all accounts of the user."""
        return None if self.key is None else self.key.allow_accounts

    def can_see(self, edge_account_id: str) -> bool:
        """Return True if the credential may access this Cloudflare account (rule C4)."""
        return self.edge_accounts is None or edge_account_id in self.edge_accounts

    def has_any_scope(self, *scopes: Scope) -> bool:
        """Return True if the credential has at least one of these scopes."""
        return self.key is None or bool(set(scopes) & set(self.key.scopes))


class Credentials:
    """Checks the credentials of requests."""

    def __init__(self, store: Store, config: Config, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._limit = SlidingLimit(config.limits.requests_per_minute)
        self._session_limit = SlidingLimit(_SESSION_SHARE * config.limits.requests_per_minute)
        self._trusted = [network_of(text) for text in config.http.trusted_proxies]

    def client(self, peer: str | None, forwarded: Sequence[str]) -> IpAddress | None:
        """Return the client's IP address, as `client_address` determines it with the configured trusted proxies."""
        return client_address(peer, forwarded, self._trusted)

    async def caller(
        self, authorization: str | None, client: IpAddress | None, *, leaving: bool = False
    ) -> tuple[Caller, dict[str, str]]:
        """Return the caller, and the RateLimit headers for the response (only for API keys).

        `leaving`: if the user is being deleted, also accept the session that requested the deletion. Raises
        Unauthorized if the credential is missing, unknown, expired or not allowed from this address. Raises Forbidden
        (code user_disabled) if the API key's user has been disabled, or RateLimited with the RateLimit headers.
        """
        token = bearer(authorization)
        now = self._clock()
        if not token.startswith(api_key.PREFIX):
            signed_in = await self._store.peek(sessions.session_of_access(digest(token), now))
            if signed_in is not None:
                user, session_id = signed_in
                admit(self._session_limit, str(user.id), now)
                return Caller(user, session_id=session_id), {}
            leaving_user = await self._store.peek(user_deletions.asking_user(digest(token))) if leaving else None
            if leaving_user is None:
                raise Unauthorized
            return Caller(leaving_user), {}
        if not api_key.is_api_key(token):  # do not query the store for a made-up or truncated key
            raise Unauthorized
        key_and_user = await self._store.peek(keys.key_by_digest(digest(token)))
        if key_and_user is None:
            raise Unauthorized
        key, user = key_and_user
        if user.disabled_at is not None:
            raise Forbidden("user_disabled")
        if not address_allowed(client, key.allow_ips):
            raise Unauthorized("The key is not accepted from this address.")
        verdict = self._limit.count(key.id, now)
        headers = rate_headers(verdict, self._limit)
        if not verdict.allowed:
            raise RateLimited(verdict.reset_s, headers)
        if key.last_used != day_of(now):
            with suppress(StoreUnavailable):  # if the store rejects writes, it may still be readable
                await self._store.run(keys.touch_key(key.id, day_of(now)))
        return Caller(user, key), headers

    async def check_not_revoked(self, caller: Caller) -> None:
        """Check that the caller's API key, if any, is not revoked. Raises the errors of `keys.check_not_revoked`."""
        if caller.key is not None:
            await self._store.peek(keys.check_not_revoked(caller.key.id))


class RateLimited(ServiceError):
    """Raised if a rate limit is exceeded. `headers` are the RateLimit headers of the IETF draft."""

    def __init__(self, retry_after_s: int, headers: dict[str, str] | None = None) -> None:
        super().__init__("rate_limited", retry_after_s=retry_after_s)
        self.headers = headers or {}


def admit(limit: SlidingLimit, name: str, now: int) -> Verdict:
    """Count an attempt under the key `name` at `now` (epoch ms).

    If the attempt exceeds the limit, raises RateLimited.
    """
    verdict = limit.count(name, now)
    if not verdict.allowed:
        raise RateLimited(verdict.reset_s)
    return verdict


def require(caller: Caller, scopes: Sequence[Scope], *, session_only: bool) -> None:
    """Check that the caller has one of `scopes`, unless `scopes` is empty. `session_only`: reject API keys.

    Raises Forbidden with the code session_required or scope_required.
    """
    if session_only and caller.key is not None:
        raise Forbidden("session_required")
    if scopes and not caller.has_any_scope(*scopes):
        raise Forbidden("scope_required", details={"scopes": list(scopes)})


def has_full_access(caller: Caller) -> bool:
    """Return True if the caller may access all of the user's data.

    Callers with full access are sign-in sessions, and API keys with all scopes and accounts.
    """
    return caller.edge_accounts is None and all(caller.has_any_scope(scope) for scope in get_args(Scope))


def bearer(authorization: str | None) -> str:
    """Return the bearer token of an Authorization header. Raises Unauthorized if there is none."""
    scheme, _, token = (authorization or "").strip().partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not token or len(token) > 200:
        raise Unauthorized
    return token


def rate_headers(verdict: Verdict, limit: SlidingLimit) -> dict[str, str]:
    """Return the RateLimit headers (IETF draft-ietf-httpapi-ratelimit-headers, structured fields)."""
    return {
        "RateLimit-Policy": f'"key";q={limit.quota};w={limit.window_s}',
        "RateLimit": f'"key";r={verdict.remaining};t={verdict.reset_s}',
    }


def client_address(
    peer: str | None,
    forwarded: Sequence[str],
    trusted: Sequence[IpNetwork],
) -> IpAddress | None:
    """Return the client's address: the peer or, behind trusted proxies, the last untrusted hop in X-Forwarded-For.

    The header is read from right to left, up to the first address that is not a trusted proxy. Returns None if the peer
    is a Unix socket, or if a trusted proxy added a value that is not an address.
    """
    address = _address(peer)
    last = ",".join(forwarded[-_MAX_HOPS:]).rsplit(",", _MAX_HOPS)
    hops = [hop.strip() for hop in last[-_MAX_HOPS:]] if forwarded else []
    while address is not None and hops and any(address in network for network in trusted):
        address = _address(hops.pop())
    return address


def networks_of(client: IpAddress | None) -> tuple[str, str]:
    """Return the two networks under which a client's attempts are counted: its own network, and a larger one around it.

    With IPv6, providers assign each customer at least a /64, often a /56 or a /48. With IPv4, a customer gets one
    address, or sometimes several in the same /24. All clients with an unknown address count as one network.
    """
    if client is None:
        return "none", "none"
    own, around = (32, 24) if client.version == 4 else (64, 48)
    return _network(client, own), _network(client, around)


def address_allowed(client: IpAddress | None, allow_ips: Sequence[str] | None) -> bool:
    """Return True if an API key with these `allow_ips` may be used from the address `client` (rule C5)."""
    if allow_ips is None:
        return True
    return client is not None and any(client in network_of(text) for text in allow_ips)


def _network(client: IpAddress, bits: int) -> str:
    return str(ipaddress.ip_network((client, bits), strict=False))


def _address(text: str | None) -> IpAddress | None:
    """Parse an address as proxies write it, with or without port, brackets and zone.

    IPv4-mapped IPv6 addresses become IPv4.
    """
    if text is None:
        return None
    bare = text[1:].partition("]")[0] if text.startswith("[") else text
    if bare.count(":") == 1:
        bare = bare.partition(":")[0]
    try:
        # Ignore the zone, which is the network interface of a link-local address.
        address = ipaddress.ip_address(bare.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
