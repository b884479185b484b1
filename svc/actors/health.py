"""The account's health: is the token alive, is what we installed still as we left it, does the worker report?"""

from __future__ import annotations

import logging
import math
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import trio

from svc.actors.script import is_as_uploaded
from svc.edge import d1, tokens, workers
from svc.errors import CannotUnseal, EdgeRefused, EdgeUnavailable, ServiceError
from svc.model import SERVING
from svc.store import accounts
from svc.worker.bundle import SCRIPT_NAME

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from svc.actors.context import Context
    from svc.actors.duty import Timers
    from svc.model import Account, AccountState

log = logging.getLogger(__name__)

# What a remote refusal makes of an account that serves.
_STATE_AFTER: dict[str, AccountState] = {
    "permission_error": "permission_error",
    "revoked": "revoked",
    "resource_drift": "resource_drift",
    "credentials_unreadable": "permission_error",
}
_WATCHED: tuple[AccountState, ...] = (*SERVING, "permission_error", "revoked", "resource_drift")


async def note_refusal(context: Context, account: Account, error: ServiceError) -> None:
    """Let the account show what the platform refused: a state of its own where the rules name one."""
    log.warning("the platform refused", extra={"account": account.id, "code": error.code})
    state = _STATE_AFTER.get(error.code)
    if state is not None:
        await context.store.run(accounts.move(account.id, SERVING, state, error.note()))


@asynccontextmanager
async def refusals_noted(context: Context, account: Account) -> AsyncIterator[None]:
    """Around calls that a request makes with the working token: what they are refused, the account shows as well."""
    try:
        yield
    except (EdgeRefused, CannotUnseal) as error:
        await note_refusal(context, account, error)
        raise


async def note_silence(context: Context, account: Account, timers: Timers) -> float:
    """An account whose worker has not pushed for `silent_after_s` has no connection."""
    del timers
    if account.state != "ready" or account.heard_at is None:
        return math.inf
    silent_at = account.heard_at + int(context.config.timing.silent_after_s * 1000)
    now = context.clock()
    if now >= silent_at:
        await context.store.run(accounts.move(account.id, ("ready",), "no_connection", None))
        return math.inf
    return trio.current_time() + (silent_at - now) / 1000


async def check_when_due(context: Context, account: Account, timers: Timers) -> float:
    """Look at the token, the script and the database every `health_every_s`; all well heals a broken state."""
    if account.state not in _WATCHED or account.sealed_token is None:
        return math.inf
    if trio.current_time() < timers.health_at:
        return timers.health_at
    try:
        trouble = await _trouble(context, account)
    except EdgeUnavailable as error:
        log.info("health not known", extra={"account": account.id, "why": error.message})
    else:
        if trouble is not None:
            await note_refusal(context, account, trouble)
        elif account.state not in SERVING:
            await context.store.run(accounts.move(account.id, (account.state,), "ready", None))
    timers.health_at = trio.current_time() + context.config.timing.health_every_s
    return timers.health_at


async def _trouble(context: Context, account: Account) -> ServiceError | None:
    if account.token_expires_at is not None and context.clock() >= account.token_expires_at:
        return EdgeRefused("revoked", "The working token has expired.")
    try:
        access = context.access(account)
        status = await tokens.verify(access)
        if status.status != "active":
            return EdgeRefused("revoked", f"The working token is {status.status}.")
        script = await workers.get_script(access, SCRIPT_NAME)
        if script is None:
            return EdgeRefused("resource_drift", f"The worker {SCRIPT_NAME} was deleted outside the service.")
        if not await is_as_uploaded(context, access, account, script):
            return EdgeRefused("resource_drift", f"The worker {SCRIPT_NAME} was changed outside the service.")
        if account.database_id is None or await d1.get(access, account.database_id) is None:
            return EdgeRefused("resource_drift", "The worker's database was deleted outside the service.")
    except (EdgeRefused, CannotUnseal) as error:
        return error
    return None
