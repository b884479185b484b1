"""The rollout of a new worker: after a start with a newer bundle, the accounts are updated by themselves, a few first.

    1 account ──► 5 more ──► 5 % of all ──► the rest; each wave begins when the one before it is confirmed

An account is confirmed when its new worker has pushed, which it does within a minute or two of its upload. One that
failed takes nobody's place: another is tried instead, until too many have failed. Then no more are begun: `halted`, an
ERROR once, and `svc check` tells it. Workers that have been silent come last, as silence afterwards says nothing of
them. What is looked at is in the store, so a restart goes on where the process ended; the updates themselves are
operations of their accounts' actors.
"""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING

import trio

from svc.clock import HOUR_MS
from svc.errors import Conflict, NotFound, StoreUnavailable
from svc.faults import contained
from svc.ids import new_id
from svc.store import rollouts

if TYPE_CHECKING:
    from svc.actors.context import Context
    from svc.model import Rollout, RolloutState
    from svc.store.rollouts import Progress

log = logging.getLogger(__name__)

_FIRST_WAVES = (1, 5)
_THIRD_WAVE = 0.05
# A new worker that does not work fails in the first wave already; of many accounts a few always have a trouble of
# their own that looks the same.
_MOST_FAILED = 3
_MOST_FAILED_SHARE = 0.1
# A worker pushes once an hour.
SILENT_MS = 2 * HOUR_MS
# An account whose update failed is tried again after this.
_AGAIN_MS = 6 * HOUR_MS
# How often it is looked for accounts that have become ready, in periods of a rollout that is under way.
_IDLE_PERIODS = 20
_STORE_WAIT_S = 30.0


async def keep_updating(context: Context) -> None:
    """Bring the service's worker to all accounts, for ever; a fault is logged, and the next look goes on."""
    if not context.config.worker.auto_update:
        return
    every_s = wait_s = context.config.timing.rollout_every_s  # the first look is no part of the start
    while True:
        await trio.sleep(wait_s)
        wait_s = every_s
        with contained(log, "rollout failed"):
            try:
                wait_s *= await advance(context)
            except StoreUnavailable:
                wait_s = min(wait_s, _STORE_WAIT_S)


async def advance(context: Context) -> int:
    """Look how far the rollout is and begin what may be begun. Returns in how many periods to look again."""
    now = context.clock()
    rollout = await context.store.read(rollouts.current(context.bundle.sha256))
    if rollout is None:
        rollout = await context.store.run(rollouts.begin(context.bundle.sha256, now))
    if context.config.push_trouble(context.push_url) is not None:
        return _IDLE_PERIODS  # no worker could push: told at the start
    found = await context.store.read(rollouts.progress(rollout, SILENT_MS))
    state: RolloutState = "running"
    accounts: list[str] = []
    if is_halted(found):
        state = "halted"
    else:
        accounts = await _next(context, rollout, found, now)
        if not accounts and not found.under_way and not await _any_waits(context, rollout, now):
            state = "done"
    if (state, found.updated, found.failed) != (rollout.state, rollout.updated, rollout.failed):
        await context.store.run(rollouts.note(rollout, state, found, now))
        _tell(rollout, state, found)
    for account_id in accounts:
        try:
            await context.store.run(rollouts.begin_update(rollout, account_id, new_id("op"), context.clock()))
        except (Conflict, NotFound) as error:
            log.info("not updated now", extra={"account": account_id, "why": error.message})
    return 1 if state == "running" else _IDLE_PERIODS


def is_halted(found: Progress) -> bool:
    """Whether so many have failed that no more may be begun."""
    tried = found.updated + found.failed
    return found.failed >= max(1, min(_MOST_FAILED, found.total)) and found.failed > _MOST_FAILED_SHARE * tried


def room(found: Progress, at_once: int) -> int:
    """How many updates may be begun now: what the present wave leaves, and `at_once` at work at the most."""
    end = 0.0
    for size in (*_FIRST_WAVES, math.ceil(_THIRD_WAVE * found.total), math.inf):
        end += size
        if found.updated < end:
            break
    return max(0, int(min(end - found.updated - found.under_way, at_once - found.working)))


async def _next(context: Context, rollout: Rollout, found: Progress, now: int) -> list[str]:
    most = room(found, context.config.worker.updates_at_once)
    if most == 0:
        return []
    accounts = await _waiting(context, rollout, now, most, silent=False)
    if accounts or found.under_way:
        return accounts
    return await _waiting(context, rollout, now, most, silent=True)


async def _any_waits(context: Context, rollout: Rollout, now: int) -> bool:
    return bool(
        await _waiting(context, rollout, now, 1, silent=False) or await _waiting(context, rollout, now, 1, silent=True)
    )


async def _waiting(context: Context, rollout: Rollout, now: int, most: int, *, silent: bool) -> list[str]:
    return await context.store.read(
        rollouts.waiting(
            rollout,
            context.bundle.schema,
            heard_since=now - SILENT_MS,
            failed_before=now - _AGAIN_MS,
            most=most,
            kind="silent" if silent else "heard",
        )
    )


def _tell(before: Rollout, state: RolloutState, found: Progress) -> None:
    counts = {"bundle": before.bundle, "updated": found.updated, "failed": found.failed, "of": found.total}
    if state == "halted" and before.state != "halted":
        log.error("the update of workers is halted, too many have failed; see: svc check", extra=counts)
    elif state != before.state:
        log.info("rollout %s", state, extra=counts)
