"""Rules for account states: the state after an error, and the requests that are refused in each state."""

from __future__ import annotations

import logging
import math
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import trio

from svc.errors import CannotUnseal, EdgeRefused, EdgeUnavailable, ServiceError
from svc.model import SERVING
from svc.store import account_health, accounts, pushes, states

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection

    from svc.actors.context import Context
    from svc.actors.duty import Timers
    from svc.model import Account, AccountState

log = logging.getLogger(__name__)

# The state that an account enters when Cloudflare refuses a call, by error code. This mapping applies only to accounts
# whose state is in `SERVING`.
STATE_AFTER: dict[str, AccountState] = {
    "permission_error": "permission_error",
    "token_refused": "permission_error",
    "revoked": "revoked",
    "resource_drift": "resource_drift",
    "name_taken": "resource_drift",
    "credentials_unreadable": "permission_error",
}
# Codes of errors that suggest that the account has other problems. The HTTP status 404 suggests this as well, because
# it means that a resource is missing.
_SUGGESTS_MORE = ("permission_error", "token_refused", "resource_drift", "cloudflare_error")
_NOT_FOUND = 404
_SILENT = ServiceError("worker_silent")


async def record_refusal(
    context: Context, account: Account, error: EdgeRefused | CannotUnseal | EdgeUnavailable
) -> None:
    """Record that a call with the account's working token failed.

    If `STATE_AFTER` maps the error to a state, the account enters this state and shows the error. If the error suggests
    further problems, a health check becomes due immediately. An EdgeUnavailable error suggests this only if its HTTP
    status is 404.
    """
    if isinstance(error, EdgeUnavailable):
        if error.remote_status == _NOT_FOUND:
            await context.store.run(account_health.suspect(account.id, context.clock()))
        return
    log.warning("call refused", extra={"account": account.id, "code": error.code, "why": error.details})
    state = STATE_AFTER.get(error.code)
    current = await context.store.read(accounts.account_by_id(account.id))
    if current is None or current.token_id != account.token_id:
        return  # Cloudflare refused the previous token, not the current one
    if state is not None:
        await context.store.run(states.move(account.id, SERVING, state, error.to_note(), context.clock()))
    if error.code in _SUGGESTS_MORE:
        await context.store.run(account_health.suspect(account.id, context.clock()))


def check_state(account: Account, allowed: Collection[str], purpose: str) -> None:
    """Raise Conflict with the code account_not_ready unless `allowed` contains the account's state.

    `purpose`: the end of the error message, such as "a site needs it to be ready" (see `accounts.not_ready`).
    """
    if account.state not in allowed:
        raise accounts.not_ready(account, f"The account is {account.state}; {purpose}.")


@asynccontextmanager
async def refusals_recorded(context: Context, account: Account) -> AsyncIterator[None]:
    """Return a context manager that passes errors of Cloudflare calls to `record_refusal`, then raises them again.

    HTTP requests use this context manager around calls that use the working token.
    """
    try:
        yield
    except (EdgeRefused, CannotUnseal, EdgeUnavailable) as error:
        await record_refusal(context, account, error)
        raise


async def record_silence(context: Context, account: Account, timers: Timers) -> float:
    """Change an account's state to `no_connection` if its Worker has not pushed for `silent_after_s`."""
    del timers
    if account.state != "ready" or account.heard_at is None:
        return math.inf
    silent_at = account.heard_at + int(context.config.timing.silent_after_s * 1000)
    now = context.clock()
    if now >= silent_at:
        await context.store.run(pushes.record_silence(account.id, account.heard_at, _SILENT.to_note(), now))
        return math.inf
    return trio.current_time() + (silent_at - now) / 1000
