"""Expiry of the working token.

The account shows a warning several days before the token expires. When the token has expired, the account's state
becomes `revoked`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import trio

from svc.errors import EdgeRefused
from svc.store import account_health, account_schedule, working_tokens

if TYPE_CHECKING:
    from svc.actors.context import Context
    from svc.actors.duty import Timers
    from svc.model import Account

_EXPIRED = EdgeRefused("revoked", "The working token has expired.")


async def expire_when_due(context: Context, account: Account, timers: Timers) -> float:
    """Warn before the working token expires. When the token has expired, mark the account as `revoked`."""
    del timers
    if account.token_expires_at is None or account.state not in working_tokens.EXPIRING:
        return math.inf
    now = context.clock()
    if now >= account.token_expires_at:
        await context.store.run(working_tokens.expire(account.id, _EXPIRED.to_note(), now))
        return math.inf
    soon_at = account.token_expires_at - account_schedule.EXPIRY_WARNING_MS
    if now >= soon_at and "token_expires_soon" not in account.warnings:
        await context.store.run(account_health.warn(account.id, "token_expires_soon"))
    next_at = soon_at if now < soon_at else account.token_expires_at
    return trio.current_time() + (next_at - now) / 1000
