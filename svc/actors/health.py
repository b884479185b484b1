"""The account's health: is the token alive, is what we installed still as we left it, does the worker report?"""

from __future__ import annotations

import logging
import math
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import trio

from svc.actors import worker_watch
from svc.actors.script import standing
from svc.edge import d1, tokens, workers
from svc.errors import CannotUnseal, Conflict, EdgeRefused, EdgeUnavailable, ServiceError
from svc.model import SERVING
from svc.store import accounts
from svc.worker.bundle import SCRIPT_NAME

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection

    from svc.actors.context import Context
    from svc.actors.duty import Timers
    from svc.errors import ErrorNote
    from svc.model import Account, AccountState

log = logging.getLogger(__name__)

# What a remote refusal makes of an account that serves.
_STATE_AFTER: dict[str, AccountState] = {
    "permission_error": "permission_error",
    "token_refused": "permission_error",
    "revoked": "revoked",
    "resource_drift": "resource_drift",
    "credentials_unreadable": "permission_error",
}
_OF_THE_TOKEN = frozenset(
    {"revoked", "token_refused", "permission_error", "credentials_missing", "credentials_unreadable"}
)
# The platform also refuses good tokens, in incidents for minutes to hours: only so many checks in a row, over so long,
# make a token `revoked`. Meanwhile, and while a right is missing, it is looked at more often.
_REVOKED_AFTER_CHECKS = 3
_REVOKED_AFTER_MS = 3_600_000
_REFUSED_CHECK_S = 600.0
_WATCHED: tuple[AccountState, ...] = (*SERVING, "permission_error", "revoked", "resource_drift")


async def note_refusal(context: Context, account: Account, error: ServiceError) -> None:
    """Let the account show what the platform refused: a state of its own where the rules name one."""
    log.warning("the platform refused", extra={"account": account.id, "code": error.code})
    state = _STATE_AFTER.get(error.code)
    now = await context.store.read(accounts.account_by_id(account.id))
    if now is None or now.token_id != account.token_id:
        return  # what was refused was the token before
    if state is not None:
        await context.store.run(accounts.move(account.id, SERVING, state, error.note()))


def check_state(account: Account, allowed: Collection[str], purpose: str) -> None:
    """Whether the account is in a state that allows it; `purpose`: "a site needs it to be ready".

    Raises Conflict account_not_ready, whose `details.reason` is the code of the account's own trouble.
    """
    if account.state not in allowed:
        details = {} if account.error is None else {"reason": account.error.code}
        raise Conflict("account_not_ready", f"The account is {account.state}; {purpose}.", details)


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
    every_s = context.config.timing.health_every_s
    if account.state == "permission_error":
        every_s = min(every_s, _REFUSED_CHECK_S)
    timers.health_at = min(timers.health_at, trio.current_time() + every_s)
    if trio.current_time() < timers.health_at:
        return timers.health_at
    try:
        trouble = await _trouble(context, account)
    except EdgeUnavailable as error:
        log.info("health not known", extra={"account": account.id, "why": error.message})
    else:
        if trouble is not None:
            await _show(context, account, await _believed(context, account, trouble))
        elif account.state not in SERVING:
            await context.store.run(accounts.move(account.id, (account.state,), "ready", None))
    timers.health_at = trio.current_time() + every_s
    return timers.health_at


async def found_with_new_token(context: Context, account: Account) -> tuple[AccountState, ErrorNote | None]:
    """State and error of an account whose token was renewed: what a check finds, or, where the platform does not tell
    in time, what it was before. `account` has the new token.

    An account whose install has failed, or whose worker was never installed, is `connected`: only an install says more.
    """
    if account.state == "connected" or account.installed_at is None:
        of_the_token = account.error is not None and account.error.code in _OF_THE_TOKEN
        return "connected", None if of_the_token else account.error
    with trio.move_on_after(context.config.edge.settling_in_connect_s):
        try:
            trouble = await _trouble(context, account)
        except EdgeUnavailable as error:
            log.info("health not known", extra={"account": account.id, "why": error.message})
            return account.state, account.error
        if trouble is None:
            return (account.state, account.error) if account.state in SERVING else ("ready", None)
        state = _STATE_AFTER.get(trouble.code)
        if state is not None and trouble.code != "token_refused":
            return state, trouble.note()
    return account.state, account.error


async def _believed(context: Context, account: Account, trouble: ServiceError) -> ServiceError:
    """The trouble, or `revoked` where the token was refused at several checks for long enough."""
    if trouble.code != "token_refused":
        return trouble
    refused_at, checks = await context.store.run(accounts.token_refused(account.id, context.clock()))
    if checks < _REVOKED_AFTER_CHECKS or context.clock() - refused_at < _REVOKED_AFTER_MS:
        return trouble
    return EdgeRefused("revoked", "The edge platform has refused the working token for more than an hour.")


async def _show(context: Context, account: Account, trouble: ServiceError) -> None:
    """Let the account show what the check found, whatever it showed before."""
    state = _STATE_AFTER.get(trouble.code)
    if state is None:
        await note_refusal(context, account, trouble)
    elif (account.state, account.error) != (state, trouble.note()):
        log.warning("not well", extra={"account": account.id, "code": trouble.code})
        await context.store.run(accounts.move(account.id, (account.state,), state, trouble.note()))


async def _trouble(context: Context, account: Account) -> ServiceError | None:
    if account.token_expires_at is not None and context.clock() >= account.token_expires_at:
        return EdgeRefused("revoked", "The working token has expired.")
    try:
        access = context.access(account)
        status = await tokens.verify(access)
        if account.token_refused_at is not None:
            await context.store.run(accounts.token_accepted(account.id))
        if status.status != "active":
            return EdgeRefused("revoked", f"The working token is {status.status}.")
        script = await workers.get_script(access, SCRIPT_NAME)
        if script is None:
            return EdgeRefused("resource_drift", f"The worker {SCRIPT_NAME} was deleted outside the service.")
        found = await standing(context, access, account, script)
        if found == "changed":
            return EdgeRefused("resource_drift", f"The worker {SCRIPT_NAME} was changed outside the service.")
        if account.database_id is None or await d1.get(access, account.database_id) is None:
            return EdgeRefused("resource_drift", "The worker's database was deleted outside the service.")
        if account.state in SERVING:
            await worker_watch.look(context, access, account, newer=found == "newer")
    except (EdgeRefused, CannotUnseal) as error:
        return error
    return None
