"""Accounts, zones and DNS records, and wrangler's queries about the user."""

from __future__ import annotations

import re
from typing import Any

from quart import Blueprint, Response, request

from edge_worker.emulator.api.access import for_account, for_zone, identify
from edge_worker.emulator.api.permissions import allows
from edge_worker.emulator.api.wire import ApiError, body_object, envelope, invalid, page, shuffled
from edge_worker.emulator.platform import platform
from edge_worker.emulator.state import Account, DnsRecord, Zone, iso_micro, new_hex

routes = Blueprint("zones", __name__)


def shown_account(account: Account) -> dict[str, Any]:
    """Return an account as the API shows it."""
    return {
        "id": account.id,
        "name": account.name,
        "type": "standard",
        "settings": {"enforce_twofactor": False, "abuse_contact_email": None},
        "created_on": iso_micro(account.created_at),
    }


def shown_zone(account: Account, zone: Zone) -> dict[str, Any]:
    """Return a zone as the API shows it."""
    created = iso_micro(zone.created_at)
    return {
        "id": zone.id,
        "name": zone.name,
        "status": zone.status,
        "paused": zone.paused,
        "type": zone.type,
        "development_mode": 0,
        "name_servers": ["ada.ns.cloudflare.com", "bob.ns.cloudflare.com"],
        "original_name_servers": None,
        "original_registrar": None,
        "original_dnshost": None,
        "created_on": created,
        "modified_on": created,
        "activated_on": created if zone.status == "active" else None,
        "meta": {"step": 2, "custom_certificate_quota": 0, "page_rule_quota": 3, "phishing_detected": False},
        "owner": {"id": None, "type": "user", "email": None},
        "account": {"id": account.id, "name": account.name},
        "tenant": {"id": None, "name": None},
        "tenant_unit": {"id": None},
        "permissions": ["#zone:read"],
        "plan": {
            "id": "0feeeeeeeeeeeeeeeeeeeeeeeeeeeeee",
            "name": "Free Website",
            "price": 0,
            "currency": "USD",
            "frequency": "",
            "is_subscribed": False,
            "can_subscribe": False,
            "legacy_id": "free",
            "legacy_discount": False,
            "externally_managed": False,
        },
    }


def shown_record(zone: Zone, record: DnsRecord) -> dict[str, Any]:
    """Return a DNS record as the API shows it."""
    created = iso_micro(record.created_at)
    return {
        "id": record.id,
        "zone_id": zone.id,
        "zone_name": zone.name,
        "name": record.name,
        "type": record.type,
        "content": record.content,
        "proxiable": record.type in {"A", "AAAA", "CNAME"},
        "proxied": record.proxied,
        "ttl": record.ttl,
        "settings": {},
        "meta": {},
        "comment": None,
        "tags": [],
        "created_on": created,
        "modified_on": created,
    }


_OPERATORS = {
    "contains": lambda value, wanted: wanted in value,
    "starts_with": str.startswith,
    "startswith": str.startswith,
    "ends_with": str.endswith,
    "endswith": str.endswith,
    "equal": str.__eq__,
    "exact": str.__eq__,
    "not_equal": str.__ne__,
}


def _name_fits(value: str, wanted: str) -> bool:
    """Return True if a zone name matches a filter: a plain name, or one with an operator prefix (`contains:`)."""
    operator, colon, rest = wanted.partition(":")
    if colon and operator in _OPERATORS:
        return bool(_OPERATORS[operator](value, rest.lower()))
    return value == wanted.lower()


@routes.get("/accounts")
async def accounts() -> Response:
    """Reject a request for the list of accounts, which requires a user token."""
    identify()
    raise ApiError(400, 1001, "List accounts endpoint does not support account owned tokens.")


@routes.get("/accounts/<account_id>")
@for_account("Account Settings Read", "Account Settings Write")
async def account(account: Account) -> Response:
    """Return the account."""
    return envelope(shown_account(account))


@routes.get("/user")
async def user() -> Response:
    """Reject the user query, because the token belongs to an account."""
    identify()
    raise ApiError(400, 9109, "Valid user-level authentication not found")


@routes.get("/memberships")
async def memberships() -> Response:
    """Reject a request for memberships, because the token belongs to an account."""
    identify()
    raise ApiError(400, 9109, "Valid user-level authentication not found")


@routes.get("/zones")
async def listing() -> Response:
    """List the zones that the token can read, filtered and sorted as requested."""
    account, token = identify()
    names = ("Zone Read", "Zone Write")
    visible = [zone for zone in account.zones.values() if allows(token, names, account.id, zone.id)]
    args = request.args
    wanted_account = args.get("account.id")
    if wanted_account is not None and wanted_account != account.id:
        visible = []
    if args.get("name"):
        visible = [zone for zone in visible if _name_fits(zone.name, args["name"])]
    if args.get("status"):
        visible = [zone for zone in visible if zone.status == args["status"]]
    if args.get("type"):
        visible = [zone for zone in visible if zone.type in args["type"].split(",")]
    visible = shuffled(visible, lambda zone: zone.id)
    if args.get("order") in ("name", "status"):
        order: str = args["order"]
        visible.sort(key=lambda zone: str(getattr(zone, order)), reverse=args.get("direction") == "desc")
    return page(visible, lambda zone: shown_zone(account, zone), size=5, most=50)


@routes.get("/zones/<zone_id>")
@for_zone("Zone Read", "Zone Write")
async def get(account: Account, zone: Zone) -> Response:
    """Return a zone."""
    return envelope(shown_zone(account, zone))


def _record_fits(record: DnsRecord) -> bool:
    for key, wanted in request.args.items():
        field, _, operator = key.partition(".")
        if field == "type" and record.type != wanted:
            return False
        if field == "proxied" and record.proxied != (wanted == "true"):
            return False
        if field in ("name", "content"):
            value = record.name if field == "name" else record.content
            if not _OPERATORS[operator or "exact"](value.lower(), wanted.lower()):
                return False
    return True


@routes.get("/zones/<zone_id>/dns_records")
@for_zone("DNS Read", "DNS Write")
async def records(account: Account, zone: Zone) -> Response:  # noqa: ARG001 (every zone handler gets both)
    """List the zone's DNS records, filtered as requested."""
    for key in request.args:
        field, dot, operator = key.partition(".")
        if field in ("name", "content") and dot and operator not in _OPERATORS:
            raise invalid(f"unknown filter {key}", 9207)
    found = shuffled([record for record in zone.dns if _record_fits(record)], lambda record: record.id)
    return page(found, lambda record: shown_record(zone, record), size=5, most=5000)


# Default content of a record: an existing website, as in most zones.
_WEBSITES = {"A": "12.34.56.78", "AAAA": "2600::1", "CNAME": "origin.example"}


def make_record(zone: Zone, body: dict[str, Any], now: int) -> DnsRecord:
    """Create a record of the zone. `name` can be "@", relative, or fully qualified. Raises ApiError."""
    name = str(body.get("name", "@")).lower().rstrip(".")
    full = zone.name if name in ("@", zone.name) else name if name.endswith(f".{zone.name}") else f"{name}.{zone.name}"
    kind = str(body.get("type", "A")).upper()
    if not re.fullmatch(r"(\*\.)?[a-z0-9_.-]+", full) or kind not in {"A", "AAAA", "CNAME", "MX", "NS", "TXT"}:
        raise invalid("DNS validation error", 9005)
    content = str(body.get("content") or _WEBSITES.get(kind, _WEBSITES["A"]))
    proxied = bool(body.get("proxied", False)) and kind in {"A", "AAAA", "CNAME"}
    record = DnsRecord(id=new_hex(), type=kind, name=full, content=content, proxied=proxied, created_at=now)
    zone.dns.append(record)
    return record


@routes.post("/zones/<zone_id>/dns_records")
@for_zone("DNS Write")
async def create_record(account: Account, zone: Zone) -> Response:  # noqa: ARG001
    """Create a DNS record."""
    record = make_record(zone, await body_object(), platform().now())
    await platform().runtime.update()
    return envelope(shown_record(zone, record))


@routes.delete("/zones/<zone_id>/dns_records/<record_id>")
@for_zone("DNS Write")
async def delete_record(account: Account, zone: Zone, record_id: str) -> Response:  # noqa: ARG001
    """Delete a DNS record."""
    if all(record.id != record_id for record in zone.dns):
        raise ApiError(404, 81044, "Record does not exist.")
    zone.dns = [record for record in zone.dns if record.id != record_id]
    await platform().runtime.update()
    return envelope({"id": record_id})


@routes.get("/accounts/<account_id>/storage/kv/namespaces")
@for_account("Workers Scripts Write", "Workers KV Storage Write", "Workers KV Storage Read")
async def kv_namespaces(account: Account) -> Response:  # noqa: ARG001
    """Return an empty list of KV namespaces, which wrangler queries before it deletes a script."""
    return page([], lambda nothing: nothing, size=20, most=100)
