"""Permission groups, and the access that a token's policies allow.

Cloudflare docs: fundamentals/api/how-to/create-via-api, reference/permissions. The ids also occur in public code.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edge_worker.emulator.state import Token

ACCOUNT = "com.cloudflare.api.account"
ZONE = "com.cloudflare.api.account.zone"
USER = "com.cloudflare.api.user"
BUCKET = "com.cloudflare.edge.r2.bucket"


@dataclass(frozen=True)
class Group:
    """A permission group. It applies only to resources in its scope."""

    id: str
    name: str
    scope: str
    category: str = "developer_platform"

    def shown(self, *, is_selectable: bool) -> dict[str, Any]:
        """Return the group as the API lists it."""
        return {
            "id": self.id, "name": self.name, "scopes": [self.scope],
            "category": self.category, "is_selectable": is_selectable,
        }  # fmt: skip


# The groups that the service needs, and some others. Some names belong to two groups with different scopes.
GROUPS = (
    Group("e086da7e2179491d91ee5f35b3ca210a", "Workers Scripts Write", ACCOUNT),
    Group("1a71c399035b4950a1bd1466bbe4f420", "Workers Scripts Read", ACCOUNT),
    Group("09b2857d1c31407795e75e3fed8617a1", "D1 Write", ACCOUNT),
    Group("192192df92ee43ac90f2aeeffce67e35", "D1 Read", ACCOUNT),
    Group("ac5fdc5b4b2b4c7d9a0d0d4dbbd6f1d7", "D1 Metadata Read", ACCOUNT),
    Group("28f4b596e7d643029c524985477ae49a", "Workers Routes Write", ZONE),
    Group("2072033d694d415a936eaeb94e6405b8", "Workers Routes Read", ZONE),
    Group("c8fed203ed3043cba015a93ad1616f1f", "Zone Read", ZONE, "dns_and_zones"),
    Group("e6d2666161e84845a636613608cee8d5", "Zone Write", ZONE, "dns_and_zones"),
    Group("82e64a83756745bbbb1c9c2701bf816b", "DNS Read", ZONE, "dns_and_zones"),
    Group("4755a26eedb94da69e1066d98aa820be", "DNS Write", ZONE, "dns_and_zones"),
    Group("b89a480218d04ceb98b4fe57ca29dc1f", "Account Analytics Read", ACCOUNT, "analytics_and_logs"),
    Group("9c88f9c5bce24ce7af9a958ba9c504db", "Analytics Read", ZONE, "analytics_and_logs"),
    Group("c1fde68c7bcc44588cbb6ddbc16d6480", "Account Settings Read", ACCOUNT, "account_and_billing"),
    Group("1af1fa2adc104452b74a9a3364202f20", "Account Settings Write", ACCOUNT, "account_and_billing"),
    Group("5bc3f8b21c554832afc660159ab75fa4", "Account API Tokens Write", ACCOUNT, "account_and_billing"),
    Group("eb56a6953c034b9d97dd838155666f06", "Account API Tokens Read", ACCOUNT, "account_and_billing"),
    Group("f7f0eda5697f475c90846e879bab8666", "Workers KV Storage Write", ACCOUNT),
    Group("8b47d2786a534c08a1f94ee8f9f599ef", "Workers KV Storage Read", ACCOUNT),
    Group("05880cd1bdc24d8bae0be2136972816b", "Workers Tail Read", ACCOUNT),
    Group("bf7481a1826f439697cb59a20b22293e", "Workers R2 Storage Write", ACCOUNT),
    Group("6a018a9f2fc74eb6b293b0c548f38b39", "Workers R2 Storage Bucket Item Read", BUCKET),
    Group("3d85e9514f944bb4912c5871d92e5af5", "Magic Network Monitoring Admin", ACCOUNT),
    Group(
        "959972745952452f8be2452be8cbb9f2", "Access: Apps and Policies Write", ACCOUNT, "cloudflare_one_and_zero_trust"
    ),
    Group("1e13c5124ca64b72b1969a67e8829049", "Access: Apps and Policies Write", ZONE, "cloudflare_one_and_zero_trust"),
    Group("0cc3a61731504c89b99ec1be78b77aa0", "API Tokens Read", USER, "account_and_billing"),
)
BY_ID = {group.id: group for group in GROUPS}


def group_named(name: str) -> Group:
    """Return the first group with this name. Raises KeyError."""
    for group in GROUPS:
        if group.name == name:
            return group
    raise KeyError(name)


def _flat(resources: dict[str, Any]) -> list[tuple[str, str]]:
    """Return a policy's resources as (resource, account) pairs. The account is "" if the resource is not nested under
    one.
    """
    flat: list[tuple[str, str]] = []
    for name, value in resources.items():
        if isinstance(value, dict):
            flat.extend((inner, name.removeprefix(f"{ACCOUNT}.")) for inner in value)
        else:
            flat.append((name, ""))
    return flat


def _covers(policy: dict[str, Any], scope: str, account_id: str, zone_id: str | None) -> bool:
    for resource, nested_under in _flat(policy["resources"]):
        if scope == ACCOUNT:
            if resource in (f"{ACCOUNT}.{account_id}", f"{ACCOUNT}.*") and not nested_under:
                return True
        elif nested_under not in ("", account_id):
            continue
        elif resource == f"{ZONE}.*" or (zone_id is not None and resource == f"{ZONE}.{zone_id}"):
            return True
    return False


def allows(token: Token, names: tuple[str, ...], account_id: str, zone_id: str | None) -> bool:
    """Return True if the token has one of these groups for the account, or for the zone if the group applies to zones.

    Cloudflare docs: an explicit deny wins over an explicit allow; the default is deny.
    """
    allowed = False
    for policy in token.policies:
        for entry in policy["permission_groups"]:
            group = BY_ID[entry["id"]]
            if group.name in names and _covers(policy, group.scope, account_id, zone_id):
                if policy["effect"] == "deny":
                    return False
                allowed = True
    return allowed


def holds_all_zones(token: Token, name: str, account_id: str) -> bool:
    """Return True if the token has the permission `name` for all zones of the account, as bulk route calls require."""
    return allows(token, (name,), account_id, None)


def zone_ids(resources: dict[str, Any]) -> list[str | None]:
    """Return the ids of the zones in a policy's resources. None means the account itself or all of its zones."""
    names = [name.removeprefix(f"{ZONE}.") for name, _ in _flat(resources) if name.startswith(f"{ZONE}.")]
    return [None if name == "*" else name for name in names] or [None]


def address_allowed(token: Token, address: str) -> bool:
    """Return True if the token's condition allows this client address."""
    rule = (token.condition or {}).get("request.ip", {})
    client = ipaddress.ip_address(address)

    def within(networks: list[str]) -> bool:
        return any(client in ipaddress.ip_network(network, strict=False) for network in networks)

    if rule.get("in") and not within(rule["in"]):
        return False
    return not within(rule.get("not_in") or [])
