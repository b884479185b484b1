"""Authorization: every handler under /client/v4 names the permissions that it needs."""

from __future__ import annotations

import re
from functools import wraps
from typing import TYPE_CHECKING, Any

from quart import request

from edge_worker.emulator.api.permissions import address_allowed, allows
from edge_worker.emulator.api.wire import ApiError, no_route
from edge_worker.emulator.platform import platform

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from quart import Response

    from edge_worker.emulator.state import Account, Token, World, Zone

HEX_ID = re.compile(r"[0-9a-f]{32}")


def refused(path: str) -> ApiError:
    """Return the error for rejected credentials, which differs by product.

    `path`: the part of the path after /client/v4.
    """
    if re.match(r"/accounts/[^/]*/d1/", path):
        message = "The given account is not valid or is not authorized to access this service"
        return ApiError(403, 7403, message)
    if re.match(r"/accounts/[^/]*/tokens(/(?!verify$)|$)", path):
        return ApiError(403, 9109, "Unauthorized to access requested resource")
    return ApiError(403, 10000, "Authentication error")


def _refused() -> ApiError:
    return refused(request.path.removeprefix("/client/v4"))


def bearer() -> str:
    """Return the bearer token of the request. Raises ApiError for a missing or malformed header."""
    header = request.headers.get("Authorization")
    if header is None:
        raise ApiError(400, 1001, 'Missing "Authorization" header.')
    scheme, _, value = header.partition(" ")
    if scheme.lower() != "bearer" or not re.fullmatch(r"[A-Za-z0-9_-]{40,80}", value):
        chain = [{"code": 6111, "message": "Invalid format for Authorization header"}]
        raise ApiError(400, 6003, "Invalid request headers", chain=chain)
    return value


def find_token(world: World, value: str) -> tuple[Account, Token] | None:
    """Return the token that has this value, and the token's account. Return None if there is no such token."""
    for account in world.accounts.values():
        for token in account.tokens.values():
            if token.value == value:
                return account, token
    return None


def token_id_of(world: World, authorization: str) -> str | None:
    """Return the id of the token in an Authorization header, for the log."""
    found = find_token(world, authorization.partition(" ")[2])
    return found[1].id if found else None


def status_of(token: Token) -> str:
    """Return the token's status at the emulated time: active, disabled or expired."""
    now = platform().now()
    if token.status == "active" and token.expires_at is not None and token.expires_at <= now:
        return "expired"
    return token.status


def usable(token: Token) -> bool:
    """Return True if the token is valid for this request: distributed, active, not expired, from an allowed address."""
    here = platform()
    settling_ms = token.live_at + here.token_spread_ms - here.real_now()
    if here.real_now() < token.live_at or status_of(token) != "active":
        return False
    if settling_ms > 0 and here.dice.randrange(here.token_spread_ms) < settling_ms:
        return False
    if token.not_before_at is not None and here.now() < token.not_before_at:
        return False
    return address_allowed(token, request.headers.get("X-Emulator-Ip") or request.remote_addr or "127.0.0.1")


def identify() -> tuple[Account, Token]:
    """Return this request's token and its account. Raises ApiError 403 if the token is not usable."""
    found = find_token(platform().world, bearer())
    if found is None or not usable(found[1]):
        raise _refused()
    found[1].last_used_at = platform().now()
    return found


def account_with(account_id: str, *names: str) -> Account:
    """Return the account in the path if the token has one of these permissions on it. Otherwise, raise ApiError."""
    if not HEX_ID.fullmatch(account_id):
        raise no_route()
    account, token = identify()
    if account.id != account_id or (names and not allows(token, names, account_id, None)):
        raise _refused()
    return account


def zone_with(zone_id: str, *names: str) -> tuple[Account, Zone]:
    """Return the zone and its account. Raises ApiError unless the token has one of these permissions on the zone."""
    if not HEX_ID.fullmatch(zone_id):
        raise no_route()
    account, token = identify()
    zone = account.zones.get(zone_id)
    if zone is None and platform().zone_gone == "invalid":
        raise ApiError(400, 1003, "Invalid zone identifier")
    if zone is None and platform().zone_gone == "unroutable":
        raise no_route()
    if zone is None or not allows(token, names, account.id, zone_id):
        if names[0].startswith("Workers"):
            raise _refused()
        raise ApiError(403, 9109, "Unauthorized to access requested resource")
    return account, zone


def for_account(
    *names: str,
) -> Callable[[Callable[..., Awaitable[Response]]], Callable[..., Awaitable[Response]]]:
    """Return a decorator that passes the account with the path's `account_id` to the handler.

    The decorated handler rejects tokens that have none of the permissions. If no permissions are given, it accepts any
    valid token of the account.
    """

    def around(handler: Callable[..., Awaitable[Response]]) -> Callable[..., Awaitable[Response]]:
        @wraps(handler)
        async def checked(account_id: str, **rest: Any) -> Response:
            return await handler(account_with(account_id, *names), **rest)

        return checked

    return around


def for_zone(
    *names: str,
) -> Callable[[Callable[..., Awaitable[Response]]], Callable[..., Awaitable[Response]]]:
    """Return a decorator that passes the zone with the path's `zone_id`, and its account, to the handler.

    The decorated handler rejects tokens that have none of the permissions.
    """

    def around(handler: Callable[..., Awaitable[Response]]) -> Callable[..., Awaitable[Response]]:
        @wraps(handler)
        async def checked(zone_id: str, **rest: Any) -> Response:
            return await handler(*zone_with(zone_id, *names), **rest)

        return checked

    return around
