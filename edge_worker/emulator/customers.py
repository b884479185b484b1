"""The part of the control interface that manages customers' accounts, zones and tokens."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, ValidationError
from quart import Blueprint, Response

from edge_worker.emulator.api.permissions import ACCOUNT, ZONE, group_named
from edge_worker.emulator.api.tokens import make_token
from edge_worker.emulator.api.wire import ApiError, body_object, invalid
from edge_worker.emulator.api.zones import make_record
from edge_worker.emulator.control import Body, account_of, as_json, read
from edge_worker.emulator.platform import Platform, platform
from edge_worker.emulator.state import FREE, PAID, Account, FrontRule, Limits, Zone, new_hex

routes = Blueprint("customers", __name__, url_prefix="/_control")
# The permissions of the token that svc asks its users for. The token can read the account and create another token, and
# is valid for one day.
BOOTSTRAP_PERMISSIONS = ("Account Settings Read", "Account API Tokens Write")
DAY_S = 86_400


class NewZone(Body):
    """A zone to create. Without `dns`: a website at the apex and at www, with records that are not proxied.

    `front_rules`: for each host, the rule that answers requests before they reach a Worker.
    """

    name: str
    type: Literal["full", "partial"] = "full"
    status: str = "active"
    paused: bool = False
    dns: list[dict[str, Any]] | None = None
    front_rules: dict[str, FrontRule] = Field(default_factory=dict)


class NewAccount(Body):
    """An account to create. `limits` overrides its plan's limits. `subdomain`: its workers.dev subdomain."""

    name: str = "Customer"
    subdomain: str | None = None
    plan: str = "free"
    zones: list[NewZone] = Field(default_factory=list)
    limits: dict[str, int | None] = Field(default_factory=dict)


class NewToken(Body):
    """A token to create, with names of permission groups. `zones`: names of zones; default: all in the account."""

    rights: list[str] = Field(default_factory=lambda: list(BOOTSTRAP_PERMISSIONS))
    zones: list[str] | None = None
    name: str = "bootstrap"
    expires_in_s: float | None = DAY_S
    condition: dict[str, Any] | None = None
    delay_ms: int = 0


def add_zone(account: Account, wanted: NewZone, now: int) -> Zone:
    """Create the zone in the account. Raises ApiError if an account already has a zone with that name."""
    if platform().world.zone_named(wanted.name):
        raise ApiError(409, 1061, f"{wanted.name} already exists")
    zone = Zone(
        id=new_hex(), name=wanted.name.lower(), status=wanted.status, paused=wanted.paused, type=wanted.type,
        created_at=now, front_rules=wanted.front_rules,
    )  # fmt: skip
    for record in wanted.dns if wanted.dns is not None else [{"name": "@"}, {"name": "www"}]:
        make_record(zone, record, now)
    account.zones[zone.id] = zone
    return zone


def add_token(here: Platform, account: Account, wanted: NewToken) -> tuple[str, str]:
    """Create the token and return its id and its value. Raises ApiError."""
    by_scope: dict[str, list[dict[str, str]]] = {}
    for name in wanted.rights:
        group = group_named(name)
        by_scope.setdefault(group.scope, []).append({"id": group.id})
    whole = {f"{ACCOUNT}.{account.id}": "*"}
    if wanted.zones is None:
        zones: dict[str, Any] = {f"{ACCOUNT}.{account.id}": {f"{ZONE}.*": "*"}}
    else:
        zones = {f"{ZONE}.{zone.id}": "*" for zone in account.zones.values() if zone.name in wanted.zones}
    policies = [
        {"effect": "allow", "permission_groups": groups, "resources": whole if scope == ACCOUNT else zones}
        for scope, groups in by_scope.items()
    ]
    body = {"name": wanted.name, "policies": policies, "condition": wanted.condition}
    token = make_token(account, body, here.now(), live_at=here.real_now() + wanted.delay_ms)
    if wanted.expires_in_s is not None:
        token.expires_at = here.now() + round(wanted.expires_in_s * 1000)
    return token.id, token.value


@routes.post("/accounts")
async def create_account() -> Response:
    """Create an account with its zones and a bootstrap token that is valid for a day."""
    wanted, here = await read(NewAccount), platform()
    plan = FREE if wanted.plan == "free" else PAID
    account_id = new_hex()
    limits = Limits.model_validate({**plan.model_dump(), **wanted.limits})
    account = Account(
        id=account_id, name=wanted.name, plan=wanted.plan, created_at=here.now(), limits=limits,
        subdomain=wanted.subdomain,
    )  # fmt: skip
    here.world.accounts[account_id] = account
    zones = {wanted_zone.name: add_zone(account, wanted_zone, here.now()).id for wanted_zone in wanted.zones}
    token_id, value = add_token(here, account, NewToken())
    await here.runtime.update()
    response = {"account_id": account_id, "bootstrap_token": value, "bootstrap_token_id": token_id, "zones": zones}
    return as_json(response, 201)


@routes.post("/accounts/<account_id>/tokens")
async def create_token(account_id: str) -> Response:
    """Create another token of the account."""
    wanted = await read(NewToken)
    token_id, value = add_token(platform(), account_of(account_id), wanted)
    return as_json({"token_id": token_id, "bootstrap_token": value}, 201)


@routes.post("/accounts/<account_id>/zones")
async def create_zone(account_id: str) -> Response:
    """Create a zone. If the account already has it, change its type, status, `paused`, rules and records."""
    wanted, account, here = await read(NewZone), account_of(account_id), platform()
    existing = next((zone for zone in account.zones.values() if zone.name == wanted.name), None)
    if existing is None:
        zone = add_zone(account, wanted, here.now())
    else:
        zone = existing
        zone.status, zone.paused, zone.type = wanted.status, wanted.paused, wanted.type
        zone.front_rules = wanted.front_rules
        if wanted.dns is not None:
            zone.dns = []
            for record in wanted.dns:
                make_record(zone, record, here.now())
    await here.runtime.update()
    return as_json({"zone_id": zone.id}, 201)


@routes.delete("/accounts/<account_id>/zones/<name>")
async def delete_zone(account_id: str, name: str) -> Response:
    """Remove a zone from the account."""
    account = account_of(account_id)
    account.zones = {zone_id: zone for zone_id, zone in account.zones.items() if zone.name != name}
    await platform().runtime.update()
    return as_json({})


@routes.post("/accounts/<account_id>/limits")
async def change_limits(account_id: str) -> Response:
    """Change individual limits of the account."""
    account = account_of(account_id)
    try:
        account.limits = Limits.model_validate({**account.limits.model_dump(), **await body_object()})
    except ValidationError as error:
        raise invalid(str(error)) from None
    await platform().runtime.update()
    return as_json(account.limits.model_dump())
