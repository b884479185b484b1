"""Expiry of the working token.

The account shows a warning several days before the token expires. When the token has expired, the account's state
becomes `revoked`.
"""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING

import trio

from svc.actors.checks import working_token
from svc.errors import CannotUnseal, EdgeUnavailable
from svc.store import account_health, account_schedule, working_tokens

if TYPE_CHECKING:
    from svc.actors.context import Context
    from svc.actors.duty import Timers
    from svc.model import Account

log = logging.getLogger(__name__)


async def expire_when_due(context: Context, account: Account, timers: Timers) -> float:
    """Warn before the working token expires. When the token has expired, mark the account as `revoked`.

    A user may have extended the expiry in Cloudflare's dashboard. The account is therefore marked only after Cloudflare
    has refused the token.
    """
    if account.token_expires_at is None or account.state not in working_tokens.EXPIRING:
        return math.inf
    now = context.clock()
    if now >= account.token_expires_at:
        return await _expire(context, account, timers)
    soon_at = account.token_expires_at - account_schedule.EXPIRY_WARNING_MS
    if now >= soon_at and "token_expires_soon" not in account.warnings:
        await context.store.run(account_health.warn(account.id, "token_expires_soon"))
    next_at = soon_at if now < soon_at else account.token_expires_at
    return trio.current_time() + (next_at - now) / 1000


async def _expire(context: Context, account: Account, timers: Timers) -> float:
    """Mark the account as `revoked` if Cloudflare refuses its working token. Return the time of the next attempt."""
    if trio.current_time() < timers.expiry_at:
        return timers.expiry_at
    try:
        problems = await working_token.check(context, context.access(account), account)
    except (EdgeUnavailable, CannotUnseal) as error:
        log.info("expiry unknown", extra={"account": account.id, "why": error.message})
        problems = []
    if problems:
        await context.store.run(working_tokens.expire(account.id, problems[0].to_note(), context.clock()))
        return math.inf
    # Cloudflare is unavailable, its clock is slow, or the user has changed the expiry.
    timers.expiry_at = trio.current_time() + context.config.timing.recheck_s
    return timers.expiry_at
