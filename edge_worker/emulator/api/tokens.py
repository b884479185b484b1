"""Account-owned API tokens. Cloudflare docs: api/resources/accounts/subresources/tokens."""

from __future__ import annotations

import dataclasses
import ipaddress
import secrets
import string
import zlib
from typing import Any

from quart import Blueprint, Response, request

from edge_worker.emulator.api.access import bearer, find_token, for_account, status_of, usable
from edge_worker.emulator.api.permissions import ACCOUNT, BY_ID, GROUPS, ZONE, allows, group_named, zone_ids
from edge_worker.emulator.api.wire import ApiError, body_object, envelope, invalid, page, shuffled
from edge_worker.emulator.platform import platform
from edge_worker.emulator.state import Account, Token, epoch_ms, iso, new_hex

routes = Blueprint("tokens", __name__)
READ = ("Account API Tokens Read", "Account API Tokens Write")
WRITE = "Account API Tokens Write"
MAX_NAME = 120


def new_value() -> str:
    """Generate a token value: `cfat_`, 40 characters, a checksum (Cloudflare docs: token formats)."""
    alphabet = string.ascii_letters + string.digits
    text = "".join(secrets.choice(alphabet) for _ in range(40))
    return f"cfat_{text}{zlib.crc32(text.encode()):08x}"


def shown(token: Token) -> dict[str, Any]:
    """Return a token as the API shows it, without its value."""
    policies = [
        {
            **policy,
            "permission_groups": [
                {"id": group["id"], "name": BY_ID[group["id"]].name} for group in policy["permission_groups"]
            ],
        }
        for policy in token.policies
    ]
    out: dict[str, Any] = {
        "id": token.id,
        "name": token.name,
        "status": status_of(token),
        "issued_on": iso(token.issued_at),
        "modified_on": iso(token.modified_at),
        "policies": policies,
    }
    optional = {
        "last_used_on": token.last_used_at,
        "expires_on": token.expires_at,
        "not_before": token.not_before_at,
    }
    out |= {name: iso(at) for name, at in optional.items() if at is not None}
    if token.condition:
        out["condition"] = token.condition
    return out


def _check_resources(account: Account, resources: Any) -> None:
    if not isinstance(resources, dict) or not resources:
        raise invalid("resources must not be empty", 1001)
    for name, value in resources.items():
        inner = value if isinstance(value, dict) else {name: value}
        if isinstance(value, dict) and name != f"{ACCOUNT}.{account.id}":
            raise ApiError(403, 1001, "resources of another account")
        for resource, mark in inner.items():
            zone = resource.removeprefix(f"{ZONE}.")
            mine = resource == f"{ACCOUNT}.{account.id}" or (
                zone != resource and (zone in account.zones or (zone == "*" and isinstance(value, dict)))
            )
            if mark != "*" or not mine:
                raise invalid(f"resource {resource} is not known to this account", 1001)


def _covers_policy(creator: Token, account: Account, group_id: str, resources: dict[str, Any]) -> bool:
    name = BY_ID[group_id].name
    return all(allows(creator, (name,), account.id, zone_id) for zone_id in zone_ids(resources))


def _granted(creator: Token, account: Account, policies: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the policies that the new token gets for the requested policies. Raises ApiError 400/1001.

    Sources disagree about the permissions that a token can grant, so `minting` selects a behavior. The default follows
    a user's measurement with a token whose only permission was to write tokens (terraform-provider-cloudflare #7241).
    """
    minting, granted = platform().minting, []
    for policy in policies:
        groups = policy["permission_groups"]
        held = [group for group in groups if _covers_policy(creator, account, group["id"], policy["resources"])]
        single = any(zone_id is not None for zone_id in zone_ids(policy["resources"]))
        if minting != "silent" and len(held) < len(groups) and (single or minting == "held"):
            lacking = next(BY_ID[group["id"]].name for group in groups if group not in held)
            message = f'Failed common permission check against resources. (Permission group: "{lacking}")'
            raise invalid(message, 1001)
        kept = held if minting == "silent" else groups
        if kept:
            granted.append({**policy, "permission_groups": kept})
    if minting == "surplus":
        extra = {"id": group_named("Account API Tokens Read").id}
        granted.append({**granted[0], "id": new_hex(), "permission_groups": [extra]})
    return granted


def _creator() -> Token:
    """Return the token of this request, whose permissions were already checked."""
    found = find_token(platform().world, bearer())
    assert found is not None
    return found[1]


def _policies(account: Account, body: Any) -> list[dict[str, Any]]:
    if not isinstance(body, list) or not body:
        raise invalid("policies must not be empty", 1001)
    policies = []
    for policy in body:
        if not isinstance(policy, dict) or policy.get("effect") not in ("allow", "deny"):
            raise invalid("a policy needs an effect: allow or deny", 1001)
        groups = policy.get("permission_groups")
        if not isinstance(groups, list) or not groups:
            raise invalid("a policy needs permission groups", 1001)
        for group in groups:
            if not isinstance(group, dict) or group.get("id") not in BY_ID:
                raise invalid("unknown permission group", 1001)
        _check_resources(account, policy.get("resources"))
        ids = [{"id": group["id"]} for group in groups]
        policies.append(
            {
                "id": new_hex(),
                "effect": policy["effect"],
                "permission_groups": ids,
                "resources": policy["resources"],
            }
        )
    return policies


def _time(body: dict[str, Any], name: str) -> int | None:
    value = body.get(name)
    if value is None:
        return None
    try:
        at = epoch_ms(value)
    except (ValueError, AttributeError, TypeError):
        raise invalid(f"{name} must be an ISO 8601 time", 1001) from None
    return at // 1000 * 1000


def _expiry(body: dict[str, Any], now: int) -> int | None:
    expires_at = _time(body, "expires_on")
    if expires_at is not None and expires_at <= now:
        raise invalid("expires_on must be in the future", 1001)
    return expires_at


def _condition(body: dict[str, Any]) -> dict[str, Any] | None:
    """Return the condition as given. Its key is `request.ip` (`request_ip`, sent by the 2026 SDK, is rejected)."""
    condition = body.get("condition")
    if not condition:
        return None
    if not isinstance(condition, dict) or set(condition) != {"request.ip"}:
        raise invalid("condition can only contain request.ip", 1001)
    for networks in condition["request.ip"].values():
        for network in networks:
            try:
                ipaddress.ip_network(network, strict=False)
            except ValueError:
                raise invalid(f"{network} is not an address or network", 1001) from None
    return condition


def make_token(
    account: Account, body: dict[str, Any], now: int, *, live_at: int, creator: Token | None = None
) -> Token:
    """Create a token of the account from the body of a create call.

    `creator`: the calling token; None for the control interface, which can grant any permission. Raises ApiError if the
    platform would reject the body.
    """
    name = body.get("name")
    if not isinstance(name, str) or not 1 <= len(name) <= MAX_NAME:
        raise invalid(f"name must have 1 to {MAX_NAME} characters", 1001)
    expires_at = _expiry(body, now)
    policies = _policies(account, body.get("policies"))
    token = Token(
        id=new_hex(),
        name=name,
        value=new_value(),
        policies=policies if creator is None else _granted(creator, account, policies),
        condition=_condition(body),
        issued_at=now,
        modified_at=now,
        expires_at=expires_at,
        not_before_at=_time(body, "not_before"),
        live_at=live_at,
        bootstrap=creator is None,
    )
    account.tokens[token.id] = token
    return token


def _token_of(account: Account, token_id: str) -> Token:
    token = account.tokens.get(token_id)
    if token is None:
        raise ApiError(404, 1003, "API Token not found")
    return token


def _live_at() -> int:
    return platform().real_now() + platform().token_delay_ms


@routes.post("/accounts/<account_id>/tokens")
@for_account(WRITE)
async def create(account: Account) -> Response:
    """Create a token. Only this response contains its value."""
    body = await body_object()
    if len(account.tokens) >= account.limits.tokens:
        raise invalid("The account has too many tokens", 1005)
    token = make_token(account, body, platform().now(), live_at=_live_at(), creator=_creator())
    return envelope({**shown(token), "value": token.value})


@routes.get("/accounts/<account_id>/tokens")
@for_account(*READ)
async def listing(account: Account) -> Response:
    """List the account's tokens."""
    wanted = request.args.get("include_expired") == "true"
    tokens = [t for t in account.tokens.values() if wanted or status_of(t) != "expired"]
    direction = request.args.get("direction")
    if direction:
        tokens.sort(key=lambda token: token.issued_at, reverse=direction == "desc")
    else:
        tokens = shuffled(tokens, lambda token: token.id)
    return page(tokens, shown, size=5, most=50)


@routes.get("/accounts/<account_id>/tokens/permission_groups")
@for_account(*READ)
async def permission_groups(account: Account) -> Response:
    """List the permission groups. `is_selectable` is only a hint; token creation decides which groups are valid."""
    creator = _creator()
    name, scope = request.args.get("name"), request.args.get("scope")
    renamed = platform().renamed_permission
    known = [dataclasses.replace(g, name=f"{g.name} (new)") if g.name == renamed else g for g in GROUPS]
    found = [g for g in known if name in (None, g.name) and scope in (None, g.scope)]
    return envelope(
        [
            group.shown(is_selectable=_covers_policy(creator, account, group.id, {}))
            for group in shuffled(found, lambda group: group.id)
        ]
    )


@routes.get("/accounts/<account_id>/tokens/verify")
async def verify(account_id: str) -> Response:
    """Return the status of the request's token."""
    found = find_token(platform().world, bearer())
    if found is None or found[0].id != account_id:
        raise ApiError(401, 1000, "Invalid API Token")
    _, token = found
    if status_of(token) == "active" and not usable(token):
        raise ApiError(403, 10000, "Authentication error")
    result = {"id": token.id, "status": status_of(token)}
    if token.expires_at is not None:
        result["expires_on"] = iso(token.expires_at)
    if token.not_before_at is not None:
        result["not_before"] = iso(token.not_before_at)
    if result["status"] != "active":
        return envelope(result)
    return envelope(result, messages=[{"code": 10000, "message": "This API Token is valid and active"}])


@routes.get("/user/tokens/verify")
async def verify_user() -> Response:
    """Reject the token, because this endpoint verifies user tokens only."""
    bearer()
    raise ApiError(401, 1000, "Invalid API Token")  # this endpoint rejects account-owned tokens


@routes.get("/accounts/<account_id>/tokens/<token_id>")
@for_account(*READ)
async def get(account: Account, token_id: str) -> Response:
    """Return a token."""
    return envelope(shown(_token_of(account, token_id)))


@routes.put("/accounts/<account_id>/tokens/<token_id>")
@for_account(WRITE)
async def replace(account: Account, token_id: str) -> Response:
    """Replace a token's name, policies, condition, status and validity period."""
    token, body = _token_of(account, token_id), await body_object()
    status = body.get("status", token.status)
    if status not in ("active", "disabled"):
        raise invalid("status must be active or disabled", 1001)
    policies, condition = _granted(_creator(), account, _policies(account, body.get("policies"))), _condition(body)
    name = body.get("name")
    if not isinstance(name, str) or not 1 <= len(name) <= MAX_NAME:
        raise invalid(f"name must have 1 to {MAX_NAME} characters", 1001)
    expires_at, not_before_at = _expiry(body, platform().now()), _time(body, "not_before")
    token.name, token.status, token.policies, token.condition = name, status, policies, condition
    token.expires_at, token.not_before_at = expires_at, not_before_at
    token.modified_at = platform().now()
    return envelope(shown(token))


@routes.delete("/accounts/<account_id>/tokens/<token_id>")
@for_account(WRITE)
async def delete(account: Account, token_id: str) -> Response:
    """Delete a token."""
    token = _token_of(account, token_id)
    del account.tokens[token.id]
    return envelope({"id": token.id})


@routes.put("/accounts/<account_id>/tokens/<token_id>/value")
@for_account(WRITE)
async def roll(account: Account, token_id: str) -> Response:
    """Give a token a new value. Only this response contains the new value."""
    token = _token_of(account, token_id)
    token.value, token.live_at, token.modified_at = new_value(), _live_at(), platform().now()
    return envelope(token.value)
