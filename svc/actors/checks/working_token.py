"""Checks of an account's working token: whether Cloudflare accepts it, when it expires, and its permissions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from svc.actors.checks import findings, hosts
from svc.actors.checks.findings import Finding
from svc.clock import day_of, iso
from svc.edge import analytics, tokens, zones
from svc.errors import EdgeRefused, EdgeUnavailable, ErrorNote
from svc.model import NO_EXPIRY
from svc.store import account_health, working_tokens

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from svc.actors.context import Context
    from svc.edge.access import Access
    from svc.model import Account


# During an incident, Cloudflare may refuse valid tokens for minutes or hours. A token is therefore considered `revoked`
# only if it fails this many checks in a row, over at least `_REVOKED_AFTER_MS`.
_REVOKED_AFTER_CHECKS = 3
_REVOKED_AFTER_MS = 3_600_000


async def check(context: Context, access: Access, account: Account) -> list[Finding]:
    """Check that Cloudflare accepts the working token. Raises EdgeUnavailable.

    Also reads the token's expiry, which a user can change in Cloudflare's dashboard, and stores it if it has changed.
    """
    try:
        status = await tokens.verify(access)
    except EdgeRefused as error:
        expired_at = account.token_expired_at(context.clock())
        if expired_at is not None:
            return [_expired(expired_at)]
        return [findings.refused("token", "is accepted", error)]
    if account.token_refused_at is not None:
        await context.store.run(account_health.token_accepted(account.id))
    expires_at = NO_EXPIRY if status.expires_at is None else status.expires_at
    if expires_at != account.token_expires_at:
        now = context.clock()
        await context.store.run(working_tokens.set_expiry(account.id, account.token_id, expires_at, now))
    if status.status == "expired":
        return [_expired(expires_at)]
    if status.status != "active":
        return [Finding("token_inactive", "revoked", {"status": status.status})]
    return []


def _expired(at: int) -> Finding:
    return Finding("token_expired", "revoked", {"at": iso(at)})


async def confirm_refusal(context: Context, account: Account, note: ErrorNote) -> ErrorNote:
    """Return `note`, or the error `revoked` if Cloudflare has refused the token often enough and for long enough.

    The limits are `_REVOKED_AFTER_CHECKS` and `_REVOKED_AFTER_MS`.
    """
    if note.code != "token_refused":
        return note
    refused_at, checks = await context.store.run(account_health.token_refused(account.id, context.clock()))
    if checks < _REVOKED_AFTER_CHECKS or context.clock() - refused_at < _REVOKED_AFTER_MS:
        return note
    return ErrorNote("revoked", "Cloudflare has refused the working token for more than an hour.")


async def check_permissions(context: Context, access: Access, account: Account) -> list[Finding]:
    """Check the permissions of the working token that no other part of the health check uses."""
    today = day_of(context.clock())
    database_id = account.database_id or ""
    calls: tuple[tuple[str, Callable[[], Awaitable[object]]], ...] = (
        ("Zone: Read", partial(hosts.check_zones_are_seen, context, access, account)),
        ("Account Settings: Read", partial(zones.account_name, access)),
        ("Account Analytics: Read", partial(analytics.database_days, access, database_id, today, today)),
    )
    problems = []
    for permission, call in calls:
        try:
            await call()
        except EdgeRefused as error:
            if error.code == "permission_error":  # other refusals are not caused by the token
                problems.append(findings.refused("token", f"has the permission {permission}", error, permission))
        except EdgeUnavailable as error:
            problems.append(findings.unknown("token", f"has the permission {permission}", error))
            break
    return problems
