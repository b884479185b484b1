"""What a trouble makes of an account: the state that it shows, and what it allows then."""

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

# What a remote refusal makes of an account that serves.
STATE_AFTER: dict[str, AccountState] = {
    "permission_error": "permission_error",
    "token_refused": "permission_error",
    "revoked": "revoked",
    "resource_drift": "resource_drift",
    "name_taken": "resource_drift",
    "credentials_unreadable": "permission_error",
}
# What else may be wrong where one thing is refused so; and where something is not there (404).
_SUGGESTS_MORE = ("permission_error", "token_refused", "resource_drift", "cloudflare_error")
_NOT_FOUND = 404
_SILENT = ServiceError("worker_silent")


async def note(context: Context, account: Account, error: EdgeRefused | CannotUnseal | EdgeUnavailable) -> None:
    """Let the account show what the platform refused: a state of its own where the rules name one.

    Where it suggests that more is wrong, a health check of the account is due at once; of errors that pass only a 404
    suggests that.
    """
    if isinstance(error, EdgeUnavailable):
        if error.remote_status == _NOT_FOUND:
            await context.store.run(accounts.suspect(account.id, context.clock()))
        return
    log.warning("the platform refused", extra={"account": account.id, "code": error.code})
    state = STATE_AFTER.get(error.code)
    now = await context.store.read(accounts.account_by_id(account.id))
    if now is None or now.token_id != account.token_id:
        return  # what was refused was the token before
    if state is not None:
        await context.store.run(states.move(account.id, SERVING, state, error.note(), context.clock()))
    if error.code in _SUGGESTS_MORE:
        await context.store.run(accounts.suspect(account.id, context.clock()))


def check_state(account: Account, allowed: Collection[str], purpose: str) -> None:
    """Whether the account is in a state that allows it; `purpose`: "a site needs it to be ready".

    Raises Conflict account_not_ready, see `accounts.not_ready`.
    """
    if account.state not in allowed:
        raise accounts.not_ready(account, f"The account is {account.state}; {purpose}.")


@asynccontextmanager
async def refusals_noted(context: Context, account: Account) -> AsyncIterator[None]:
    """Around calls that a request makes with the working token: what they are refused, the account shows as well."""
    try:
        yield
    except (EdgeRefused, CannotUnseal, EdgeUnavailable) as error:
        await note(context, account, error)
        raise


async def note_silence(context: Context, account: Account, timers: Timers) -> float:
    """An account whose worker has not pushed for `silent_after_s` has no connection."""
    del timers
    if account.state != "ready" or account.heard_at is None:
        return math.inf
    silent_at = account.heard_at + int(context.config.timing.silent_after_s * 1000)
    now = context.clock()
    if now >= silent_at:
        await context.store.run(accounts.note_silence(account.id, account.heard_at, _SILENT.note(), now))
        return math.inf
    return trio.current_time() + (silent_at - now) / 1000
