"""Account-owned API tokens, and the working token's permissions.

Source: Cloudflare docs on account tokens and permission groups. All coroutines raise EdgeRefused and EdgeUnavailable.
Coroutines whose calls are never retried also raise EdgeUnknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pydantic import SecretStr  # noqa: TC002  # used at run time by a model

from svc.edge.responses import Id, Moment, Shape
from svc.errors import EdgeRefused, EdgeUnavailable, ServiceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.edge.access import Access

_NOT_FOUND = 404
# Cloudflare's code for a token that is not allowed to grant the requested permissions: "Failed common permission check
# against resources" (terraform-provider-cloudflare #7241).
_COMMON_PERMISSION_CHECK = 1001

_ACCOUNT = "com.cloudflare.api.account"
_ZONE = "com.cloudflare.api.account.zone"


@dataclass(frozen=True)
class Permission:
    """A permission. The name and scope of its permission group identify it. The group's id is looked up at run time."""

    name: str
    scope: str

    def fits(self, name: str, scopes: tuple[str, ...]) -> bool:
        """Return True if a permission group with this name and these scopes is the group of this permission."""
        return name == self.name and self.scope in scopes


# All permissions of the working token.
WORKING_PERMISSIONS = (
    Permission("Workers Scripts Write", _ACCOUNT),
    Permission("D1 Write", _ACCOUNT),
    Permission("Account Analytics Read", _ACCOUNT),
    Permission("Account Settings Read", _ACCOUNT),
    Permission("Workers Routes Write", _ZONE),
    Permission("Zone Read", _ZONE),
    Permission("DNS Read", _ZONE),
)


@dataclass(frozen=True)
class TokenStatus:
    """The calling token's status: active, disabled or expired. `expires_at` is in epoch ms. None means no expiry."""

    id: str
    status: str
    expires_at: int | None


@dataclass(frozen=True)
class PermissionGroup:
    """A permission group as listed by Cloudflare. Some names exist twice, with different scopes."""

    id: str
    name: str
    scopes: tuple[str, ...]
    # only a hint; only the creation of a token shows whether the calling token can grant the group
    selectable: bool = True


@dataclass(frozen=True)
class Policy:
    """A set of permission groups that is allowed or denied for certain resources.

    A resource is `com.cloudflare.api.account.<id>`, or `<account>/<nested resource>`.
    """

    effect: str
    group_ids: frozenset[str]
    resources: frozenset[str]


@dataclass(frozen=True)
class Token:
    """One of the account's tokens, without its value."""

    id: str
    name: str
    status: str
    expires_at: int | None


@dataclass(frozen=True)
class NewToken:
    """A new token with its value, which Cloudflare shows only once."""

    id: str
    name: str
    value: SecretStr
    policies: tuple[Policy, ...]
    expires_at: int


class _Status(Shape):
    id: Id
    status: str
    expires_on: Moment | None = None


class _Group(Shape):
    id: Id
    name: str = ""
    scopes: tuple[str, ...] = ()
    is_selectable: bool | None = None


class _Policy(Shape):
    effect: str
    permission_groups: tuple[_Group, ...]
    resources: dict[str, str | dict[str, str]]


class _Token(Shape):
    id: Id
    name: str = ""
    status: str = "active"
    expires_on: Moment | None = None


class _NewToken(_Token):
    value: SecretStr
    policies: tuple[_Policy, ...] | None = None


async def verify(access: Access) -> TokenStatus:
    """Return the status of the calling token. (The endpoint under /user rejects account-owned tokens.)"""
    status = await access.get(_Status, f"{access.account_path}/tokens/verify")
    return TokenStatus(status.id, status.status, status.expires_on)


async def permission_groups(access: Access) -> list[PermissionGroup]:
    """Return all permission groups. The API does not paginate this list."""
    groups = await access.get(list[_Group], f"{access.account_path}/tokens/permission_groups")
    return [PermissionGroup(group.id, group.name, group.scopes, group.is_selectable is not False) for group in groups]


def policies_for(edge_account_id: str, groups: Sequence[PermissionGroup]) -> list[Policy]:
    """Return the working token's policies: one for the account, and one for all of its zones.

    If Cloudflare's list lacks a permission, raises ServiceError with the code permission_catalog. The error's
    `details.missing` contains the names of the missing permissions.
    """
    ids: dict[Permission, str] = {}
    for permission in WORKING_PERMISSIONS:
        for group in groups:
            if permission.fits(group.name, group.scopes):
                ids[permission] = group.id
    missing = [permission.name for permission in WORKING_PERMISSIONS if permission not in ids]
    if missing:
        raise ServiceError("permission_catalog", details={"missing": missing})
    account = f"{_ACCOUNT}.{edge_account_id}"
    of_account = frozenset(ids[permission] for permission in WORKING_PERMISSIONS if permission.scope == _ACCOUNT)
    of_zones = frozenset(ids[permission] for permission in WORKING_PERMISSIONS if permission.scope == _ZONE)
    return [
        Policy("allow", of_account, frozenset({account})),
        Policy("allow", of_zones, frozenset({f"{account}/{_ZONE}.*"})),
    ]


def permissions_of(policies: Sequence[Policy]) -> frozenset[tuple[str, str, str]]:
    """Return the permissions in these policies as (effect, group id, resource).

    The result does not depend on how the permissions are divided into policies.
    """
    return frozenset(
        (policy.effect, group_id, resource)
        for policy in policies
        for group_id in policy.group_ids
        for resource in policy.resources
    )


async def create(access: Access, name: str, policies: Sequence[Policy], expires_at: int) -> NewToken:
    """Create a token that expires at `expires_at` (epoch ms).

    The call is never retried. If it raises EdgeUnknown, the token may exist. If the calling token cannot grant a
    permission, Cloudflare may reject the call (see `cannot_grant`), or omit the permission.
    """
    body = {
        "name": name,
        "policies": [
            {
                "effect": policy.effect,
                "permission_groups": [{"id": group_id} for group_id in sorted(policy.group_ids)],
                "resources": _nested(policy.resources),
            }
            for policy in policies
        ],
        # Cloudflare does not document times with fractions of a second.
        "expires_on": datetime.fromtimestamp(expires_at // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    made = await access.call(_NewToken, "POST", f"{access.account_path}/tokens", body=body, repeatable=False)
    got = tuple(
        Policy(policy.effect, frozenset(group.id for group in policy.permission_groups), _flat(policy.resources))
        for policy in made.policies or ()
    )
    return NewToken(made.id, made.name, made.value, got, made.expires_on or expires_at)


def cannot_grant(refused: EdgeRefused, groups: Sequence[PermissionGroup]) -> bool:
    """Return True if Cloudflare refused to create a token because the calling token cannot grant its permissions."""
    if refused.remote_code == _COMMON_PERMISSION_CHECK:
        return True
    needed = [
        group for group in groups for permission in WORKING_PERMISSIONS if permission.fits(group.name, group.scopes)
    ]
    return not all(group.selectable for group in needed)


async def list_all(access: Access) -> list[Token]:
    """Return all tokens of the account that the calling token can see."""
    tokens = await access.collect(_Token, f"{access.account_path}/tokens", {"include_expired": "true"})
    return [Token(token.id, token.name, token.status, token.expires_on) for token in tokens]


async def delete(access: Access, token_id: str) -> bool:
    """Delete a token, which can be the calling token itself. Return False if it did not exist."""
    try:
        return await access.delete(f"{access.account_path}/tokens/{token_id}", frozenset())
    except EdgeUnavailable as error:
        # The list has to be read, because Cloudflare documents no code for a token that does not exist.
        if error.remote_status != _NOT_FOUND or token_id in {token.id for token in await list_all(access)}:
            raise
        return False


def _nested(resources: frozenset[str]) -> dict[str, str | dict[str, str]]:
    """Convert resources to Cloudflare's format: an account, or resources nested in it."""
    wire: dict[str, str | dict[str, str]] = {}
    for resource in sorted(resources):
        outer, _, inner = resource.partition("/")
        wire[outer] = {inner: "*"} if inner else "*"
    return wire


def _flat(wire: dict[str, str | dict[str, str]]) -> frozenset[str]:
    """Convert resources from Cloudflare's nested format.

    A value other than "*" is appended to its resource, so that the result differs from the resources that the service
    requests.
    """
    flat = set()
    for outer, inner in wire.items():
        nested = {"": inner} if isinstance(inner, str) else inner
        for name, allowed in nested.items():
            flat.add(outer + (f"/{name}" if name else "") + ("" if allowed == "*" else f"={allowed}"))
    return frozenset(flat)
