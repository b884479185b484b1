"""The door of the API: which token is asking, and may it. Every handler under /client/v4 names the rights it needs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, cast

from quart import current_app, request

from .rights import address_allowed, allows
from .wire import ApiError, no_route

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from quart import Response

    from .faults import Faults
    from .runtime import Runtime
    from .state import Account, Token, World, Zone

P = ParamSpec("P")
HEX_ID = re.compile(r"[0-9a-f]{32}")


KEPT_LOG = 20_000


@dataclass
class Platform:
    """What all handlers share."""

    world: World
    runtime: Runtime
    faults: Faults
    edge_url: str
    real_now: Callable[[], int]  # epoch ms
    token_delay_ms: int  # how long a new value is refused, as if it had not spread yet
    slow_one_in: int  # one answer in so many (0: none) ...
    slow_ms: int  # ... takes this much longer
    requests: list[dict[str, Any]] = field(default_factory=list)  # the API's log, without any token's value
    egress: list[dict[str, Any]] = field(default_factory=list)  # the workers' own fetches
    cron_runs: list[dict[str, Any]] = field(default_factory=list)
    logs: list[str] = field(default_factory=list)  # what the runtime printed

    def now(self) -> int:
        """The emulated clock, epoch ms."""
        return self.real_now() + round(self.world.offset_s * 1000)

    def note_egress(self, call: dict[str, Any]) -> None:
        """Logs a worker's own fetch."""
        self.egress.append(call)
        del self.egress[:-KEPT_LOG]

    def note_request(self, call: dict[str, Any]) -> None:
        """Logs a call of the API."""
        self.requests.append(call)
        del self.requests[:-KEPT_LOG]


def platform() -> Platform:
    """The platform behind the running request."""
    return cast("Platform", current_app.extensions["platform"])


def _refused() -> ApiError:
    return ApiError(403, 10000, "Authentication error")


def bearer() -> str:
    """The value that the request carries. Raises ApiError for a missing or malformed header."""
    header = request.headers.get("Authorization")
    if header is None:
        raise ApiError(400, 1001, 'Missing "Authorization" header.')
    scheme, _, value = header.partition(" ")
    if scheme.lower() != "bearer" or not re.fullmatch(r"[A-Za-z0-9_-]{40,80}", value):
        chain = [{"code": 6111, "message": "Invalid format for Authorization header"}]
        raise ApiError(400, 6003, "Invalid request headers", chain=chain)
    return value


def find_token(world: World, value: str) -> tuple[Account, Token] | None:
    """The token with that value and its account, or None."""
    for account in world.accounts.values():
        for token in account.tokens.values():
            if token.value == value:
                return account, token
    return None


def token_id_of(world: World, authorization: str) -> str | None:
    """The id of the token in that header, for the log: known from the moment at which a call comes in."""
    found = find_token(world, authorization.partition(" ")[2])
    return found[1].id if found else None


def status_of(token: Token) -> str:
    """active, disabled or expired, at the emulated present."""
    now = platform().now()
    if token.status == "active" and token.expires_at is not None and token.expires_at <= now:
        return "expired"
    return token.status


def usable(token: Token) -> bool:
    """Whether the token works for this request: live everywhere, active, in its time, from an admitted address."""
    here = platform()
    if here.real_now() < token.live_at or status_of(token) != "active":
        return False
    if token.not_before_at is not None and here.now() < token.not_before_at:
        return False
    return address_allowed(token, request.headers.get("X-Emulator-Ip") or request.remote_addr or "127.0.0.1")


def identify() -> tuple[Account, Token]:
    """The usable token of this request. Raises ApiError 403/10000."""
    found = find_token(platform().world, bearer())
    if found is None or not usable(found[1]):
        raise _refused()
    found[1].last_used_at = platform().now()
    return found


def account_with(account_id: str, *names: str) -> Account:
    """The account of the path, when the token may use one of these groups on it. Raises ApiError."""
    if not HEX_ID.fullmatch(account_id):
        raise no_route()
    account, token = identify()
    if account.id != account_id or (names and not allows(token, names, account_id, None)):
        raise _refused()
    return account


def zone_with(zone_id: str, *names: str) -> tuple[Account, Zone]:
    """The zone of the path, when the token may use one of these groups on it. Raises ApiError."""
    if not HEX_ID.fullmatch(zone_id):
        raise no_route()
    account, token = identify()
    zone = account.zones.get(zone_id)
    if zone is None or not allows(token, names, account.id, zone_id):
        if names[0].startswith("Workers"):
            raise _refused()
        raise ApiError(403, 9109, "Unauthorized to access requested resource")
    return account, zone


def for_account(
    *names: str,
) -> Callable[[Callable[..., Awaitable[Response]]], Callable[..., Awaitable[Response]]]:
    """Puts the account of the path's ``account_id`` in front of the handler's arguments, once the token may use one of
    the groups (no groups: any live token of the account)."""

    def around(handler: Callable[..., Awaitable[Response]]) -> Callable[..., Awaitable[Response]]:
        @wraps(handler)
        async def checked(account_id: str, **rest: Any) -> Response:
            return await handler(account_with(account_id, *names), **rest)

        return checked

    return around


def for_zone(
    *names: str,
) -> Callable[[Callable[..., Awaitable[Response]]], Callable[..., Awaitable[Response]]]:
    """The same for the zone of the path's ``zone_id``: the handler gets account and zone."""

    def around(handler: Callable[..., Awaitable[Response]]) -> Callable[..., Awaitable[Response]]:
        @wraps(handler)
        async def checked(zone_id: str, **rest: Any) -> Response:
            return await handler(*zone_with(zone_id, *names), **rest)

        return checked

    return around
