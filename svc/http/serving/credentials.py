"""Who asks: a page session or an API key; what it may; from where; how often."""

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
from svc.store import keys, sessions, user_deletions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.clock import Clock
    from svc.config import Config
    from svc.model import Key, User
    from svc.store.tx import Store

# Proxies between a client and the service, at the most; a header that names more was written to be long.
_MOST_HOPS = 16

# How many times the requests of one API key all page sessions of a user may make together. A page asks for several
# things at once; a person who does nothing else stays far below it, and one who writes a loop fills no disk.
_SESSION_SHARE = 5

# The bits before the IPv4 address in ::ffff:0:0/96.
_MAPPED_BITS = 96

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
IpNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True)
class Caller:
    """Who asks, and with what. `key` is None for a page session, which may do everything that its user may.

    `session_id`: that of the page session; None for a key, and for one that has ended with its user's deletion.
    """

    user: User
    key: Key | None = None
    session_id: str | None = None

    @property
    def edge_accounts(self) -> tuple[str, ...] | None:
        """The edge accounts that it is limited to; None: no limit."""
        return None if self.key is None else self.key.allow_accounts

    def sees(self, edge_account_id: str) -> bool:
        """Whether this edge account exists for it (rule C4)."""
        return self.edge_accounts is None or edge_account_id in self.edge_accounts

    def may(self, *scopes: Scope) -> bool:
        """Whether it carries any one of these scopes."""
        return self.key is None or bool(set(scopes) & set(self.key.scopes))


class Credentials:
    """Checks what a request carries."""

    def __init__(self, store: Store, config: Config, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._limit = SlidingLimit(config.limits.requests_per_minute)
        self._session_limit = SlidingLimit(_SESSION_SHARE * config.limits.requests_per_minute)
        self._trusted = [network_of(text) for text in config.http.trusted_proxies]

    def client(self, peer: str | None, forwarded: Sequence[str]) -> IpAddress | None:
        """The address of the client, behind the trusted proxies of the settings; see `client_address`."""
        return client_address(peer, forwarded, self._trusted)

    async def caller(
        self, authorization: str | None, client: IpAddress | None, *, leaving: bool = False
    ) -> tuple[Caller, dict[str, str]]:
        """Who asks, and the headers that the answer is to carry for it.

        `leaving`: also the session of a user who is being deleted, where it asked for that.
        Raises Unauthorized; ServiceError rate_limited (with `headers` in the same form as those returned).
        """
        token = bearer(authorization)
        now = self._clock()
        if not token.startswith(api_key.PREFIX):
            signed_in = await self._store.peek(sessions.session_of_access(digest(token), now))
            if signed_in is not None:
                user, session_id = signed_in
                admit(self._session_limit, str(user.id), now)
                return Caller(user, session_id=session_id), {}
            gone = await self._store.peek(user_deletions.asking_user(digest(token))) if leaving else None
            if gone is None:
                raise Unauthorized
            return Caller(gone), {}
        if not api_key.is_api_key(token):  # made up, or cut: no question for the store
            raise Unauthorized
        found = await self._store.peek(keys.key_by_digest(digest(token)))
        if found is None:
            raise Unauthorized
        key, user = found
        if not address_allowed(client, key.allow_ips):
            raise Unauthorized("The key is not accepted from this address.")
        verdict = self._limit.count(key.id, now)
        headers = rate_headers(verdict, self._limit)
        if not verdict.allowed:
            raise RateLimited(verdict.reset_s, headers)
        if key.last_used != day_of(now):
            with suppress(StoreUnavailable):  # a store that takes no writes can still be read
                await self._store.run(keys.touch_key(key.id, day_of(now)))
        return Caller(user, key), headers

    async def check_not_revoked(self, caller: Caller) -> None:
        """Look once more at an API key that was let in. Raises Unauthorized; StoreUnavailable."""
        if caller.key is not None:
            await self._store.peek(keys.check_not_revoked(caller.key.id))


class RateLimited(ServiceError):
    """Over the limit; `headers` are the RateLimit headers of the IETF draft."""

    def __init__(self, retry_after_s: int, headers: dict[str, str] | None = None) -> None:
        super().__init__("rate_limited", retry_after_s=retry_after_s)
        self.headers = headers or {}


def admit(limit: SlidingLimit, name: str, now: int) -> Verdict:
    """Count a try of `name` at `now` (epoch ms). Raises RateLimited where it is one too many."""
    verdict = limit.count(name, now)
    if not verdict.allowed:
        raise RateLimited(verdict.reset_s)
    return verdict


def require(caller: Caller, scopes: Sequence[Scope], *, session_only: bool) -> None:
    """Raise Forbidden session_required or scope_required where the caller may not. No scopes: any credential."""
    if session_only and caller.key is not None:
        raise Forbidden("session_required")
    if scopes and not caller.may(*scopes):
        raise Forbidden("scope_required", details={"scopes": list(scopes)})


def sees_everything(caller: Caller) -> bool:
    """Whether all that its user has is shown to it: a page session, or a key with all scopes that is not limited."""
    return caller.edge_accounts is None and all(caller.may(scope) for scope in get_args(Scope))


def bearer(authorization: str | None) -> str:
    """The token of an Authorization header. Raises Unauthorized."""
    scheme, _, token = (authorization or "").strip().partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not token or len(token) > 200:
        raise Unauthorized
    return token


def rate_headers(verdict: Verdict, limit: SlidingLimit) -> dict[str, str]:
    """RateLimit headers (IETF draft-ietf-httpapi-ratelimit-headers, structured fields)."""
    return {
        "RateLimit-Policy": f'"key";q={limit.quota};w={limit.window_s}',
        "RateLimit": f'"key";r={verdict.remaining};t={verdict.reset_s}',
    }


def client_address(
    peer: str | None,
    forwarded: Sequence[str],
    trusted: Sequence[IpNetwork],
) -> IpAddress | None:
    """The address of the client: of the peer, or, behind trusted proxies, the last untrusted one of X-Forwarded-For.

    A header is believed only as far as trusted proxies wrote it, that is from the right. None: not an address
    (a unix socket, or something that is no address where a trusted proxy put it).
    """
    address = _address(peer)
    last = ",".join(forwarded[-_MOST_HOPS:]).rsplit(",", _MOST_HOPS)
    hops = [hop.strip() for hop in last[-_MOST_HOPS:]] if forwarded else []
    while address is not None and hops and any(address in network for network in trusted):
        address = _address(hops.pop())
    return address


def networks_of(client: IpAddress | None) -> tuple[str, str]:
    """Whose tries are counted together: the client's own network, and the one around it.

    A customer of an access provider has a whole /64 of IPv6, often a /56 or a /48; of IPv4 an address, sometimes some
    of a /24. Clients without an address count as one.
    """
    if client is None:
        return "none", "none"
    own, around = (32, 24) if client.version == 4 else (64, 48)
    return _network(client, own), _network(client, around)


def address_allowed(client: IpAddress | None, allow_ips: Sequence[str] | None) -> bool:
    """Whether a key with these `allow_ips` is accepted from `client` (rule C5)."""
    if allow_ips is None:
        return True
    return client is not None and any(client in network_of(text) for text in allow_ips)


def network_of(text: str) -> IpNetwork:
    """An address or a network as it is written in settings and keys; IPv4 inside IPv6 is IPv4, as of a client."""
    network = ipaddress.ip_network(text, strict=False)
    if network.version == 4 or network.prefixlen < _MAPPED_BITS:
        return network
    inside = network.network_address.ipv4_mapped
    return network if inside is None else ipaddress.IPv4Network((inside, network.prefixlen - _MAPPED_BITS))


def _network(client: IpAddress, bits: int) -> str:
    return str(ipaddress.ip_network((client, bits), strict=False))


def _address(text: str | None) -> IpAddress | None:
    """An address as proxies write it: with or without a port, brackets, a zone; IPv4 inside IPv6 is IPv4."""
    if text is None:
        return None
    bare = text[1:].partition("]")[0] if text.startswith("[") else text
    if bare.count(":") == 1:
        bare = bare.partition(":")[0]
    try:
        # Which interface a link-local address belongs to is nobody's business here.
        address = ipaddress.ip_address(bare.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
