"""Account states: which state an account enters after an error, and which requests it then refuses."""

from __future__ import annotations

import logging
import math
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import trio

from svc.errors import CannotUnseal, EdgeRefused, EdgeUnavailable, ServiceError
from svc.model import SERVING
from svc.store import accounts, states

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection

    from svc.actors.context import Context
    from svc.actors.duty import Timers
    from svc.model import Account, AccountState

log = logging.getLogger(__name__)

# The state that a serving account enters when Cloudflare refuses a call, by error code.
STATE_AFTER: dict[str, AccountState] = {
    "permission_error": "permission_error",
    "token_refused": "permission_error",
    "revoked": "revoked",
    "resource_drift": "resource_drift",
    "name_taken": "resource_drift",
    "credentials_unreadable": "permission_error",
}
# Refusals that suggest that the account has other problems. So does the status 404, which means that something is
# missing.
_SUGGESTS_MORE = ("permission_error", "token_refused", "resource_drift", "cloudflare_error")
_NOT_FOUND = 404
_SILENT = ServiceError("worker_silent")


async def record_refusal(
    context: Context, account: Account, error: EdgeRefused | CannotUnseal | EdgeUnavailable
) -> None:
    """Show a refusal on the account, and change the account's state if the code requires it.

    If the refusal suggests further problems, a health check becomes due immediately. Among the transient errors, only a
    404 suggests further problems.
    """
    if isinstance(error, EdgeUnavailable):
        if error.remote_status == _NOT_FOUND:
            await context.store.run(accounts.suspect(account.id, context.clock()))
        return
    log.warning("call refused", extra={"account": account.id, "code": error.code})
    state = STATE_AFTER.get(error.code)
    current = await context.store.read(accounts.account_by_id(account.id))
    if current is None or current.token_id != account.token_id:
        return  # the refusal was for the previous token
    if state is not None:
        await context.store.run(states.move(account.id, SERVING, state, error.to_note(), context.clock()))
    if error.code in _SUGGESTS_MORE:
        await context.store.run(accounts.suspect(account.id, context.clock()))


def check_state(account: Account, allowed: Collection[str], purpose: str) -> None:
    """Raise Conflict account_not_ready unless the account's state is one of `allowed`; see `accounts.not_ready`.

    `purpose`: the end of the message, such as "a site needs it to be ready".
    """
    if account.state not in allowed:
        raise accounts.not_ready(account, f"The account is {account.state}; {purpose}.")


@asynccontextmanager
async def refusals_recorded(context: Context, account: Account) -> AsyncIterator[None]:
    """Record a refusal raised in the block, so that the account shows it. The error still propagates.

    Use this around calls that a request makes with the working token.
    """
    try:
        yield
    except (EdgeRefused, CannotUnseal, EdgeUnavailable) as error:
        await record_refusal(context, account, error)
        raise


async def record_silence(context: Context, account: Account, timers: Timers) -> float:
    """Move an account to `no_connection` if its worker has not pushed for `silent_after_s`."""
    del timers
    if account.state != "ready" or account.heard_at is None:
        return math.inf
    silent_at = account.heard_at + int(context.config.timing.silent_after_s * 1000)
    now = context.clock()
    if now >= silent_at:
        await context.store.run(accounts.record_silence(account.id, account.heard_at, _SILENT.to_note(), now))
        return math.inf
    return trio.current_time() + (silent_at - now) / 1000
