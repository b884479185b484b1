"""The rollout of a new worker: after a start with a newer bundle, the accounts are updated by themselves, in waves.

    the operator's own ──► 1 % ──► 10 % ──► all; each wave begins when the workers of the one before have pushed twice

A wave's accounts take their turns over its time, as a hash of their ids says, and some are tried in the place of those
that tell nothing of the worker. When too many fail, or the wave's workers tell of errors or of dropped events that the
others do not have, no more are begun: `halted`, an ERROR once; `svc rollout status` and `svc check` tell it, and `svc
rollout resume` or a newer bundle goes on. Workers that have been silent come last, as silence afterwards says nothing
of them. All that is looked at is in the store, so a restart goes on where the process ended, and a command beside the
service is heard; the updates themselves are operations of their accounts' actors.
"""

from __future__ import annotations

import heapq
import logging
import math
import zlib
from typing import TYPE_CHECKING

import trio

from svc.actors.duty import spread
from svc.clock import HOUR_MS
from svc.errors import Conflict, NotFound, StoreUnavailable
from svc.faults import contained
from svc.ids import new_id
from svc.model import WAVES
from svc.store import rollouts, waves

if TYPE_CHECKING:
    from svc.actors.context import Context
    from svc.model import HaltReason, Rollout
    from svc.store.waves import Candidate, Reports, Wave

log = logging.getLogger(__name__)

# Of all accounts, by wave; the first wave is the operator's own, the last takes all that are left.
_SHARES = (0.0, 0.01, 0.1, 1.0)
_LAST = len(WAVES) - 1
# Of many accounts a few always have a trouble of their own that looks like the worker's.
_MOST_FAILED = 3
_MOST_FAILED_SHARE = 0.02
# What is compared has to be so many at least, and twice what the others tell, to be more than chance.
_LEAST_COMPARED = 10
_TIMES = 2
# An account whose update failed is tried again after this, once all have had their turn.
_AGAIN_MS = 6 * HOUR_MS
# How often it is looked for accounts that have become ready, in periods of a rollout that is under way.
_IDLE_PERIODS = 20
# Who has not looked for so many periods was away, and heard no worker.
_AWAY_PERIODS = 2 * _IDLE_PERIODS
_STORE_WAIT_S = 30.0
_MOST_AT_ONCE = 500
_ALL = 10_000_000


async def keep_updating(context: Context) -> None:
    """Bring the service's worker to all accounts, for ever; a fault is logged, and the next look goes on."""
    if not context.config.worker.auto_update:
        return
    every_s = wait_s = context.config.timing.rollout_every_s  # the first look is no part of the start
    seen: Rollout | None = None
    idle = 0
    while True:
        await trio.sleep(wait_s)
        wait_s = every_s
        with contained(log, "rollout failed"):
            try:
                # What a command has changed is seen at the next look, whatever is waited for.
                found = await context.store.read(rollouts.newest())
                if idle > 0 and found == seen:
                    idle -= 1
                    continue
                idle = await advance(context)
                seen = await context.store.read(rollouts.newest())
            except StoreUnavailable:
                wait_s = min(wait_s, _STORE_WAIT_S)


async def advance(context: Context) -> int:
    """Look how far the rollout is and begin what may be begun. Returns how many periods may pass before the next look
    unless something changes."""
    now = context.clock()
    rollout = await context.store.read(rollouts.current(context.bundle.sha256))
    if rollout is None:
        rollout = await context.store.run(rollouts.begin(context.bundle.sha256, now))
        log.info("rollout begins", extra={"bundle": rollout.bundle})
    if context.config.push_trouble(context.push_url) is not None:
        return _IDLE_PERIODS  # no worker could push: told at the start
    patient_until = rollout.patient_until
    if now - rollout.looked_at > _AWAY_PERIODS * context.config.timing.rollout_every_s * 1000:
        patient_until = now + waves.SILENT_MS
    rollout = await context.store.run(rollouts.looked(rollout, patient_until, now))
    look = await context.store.read(waves.waves(rollout, context.bundle.schema, now))
    await _note(context, rollout, look)
    if rollout.state == "halted":
        return _IDLE_PERIODS
    reason = await _trouble(context, rollout, look[rollout.wave])
    if reason is not None:
        # A command may have been faster.
        if await context.store.run(rollouts.halt(rollout, reason, now)):
            told = {"bundle": rollout.bundle, "wave": WAVES[rollout.wave], "reason": reason}
            log.error("the update of workers is halted; see: svc rollout status", extra=told)
        return _IDLE_PERIODS
    if rollout.wave_began_at is None:
        await _begin_wave(context, rollout, now)
        return 0
    joined = await _fill(context, rollout, look[rollout.wave], now)
    await _begin_due(context, rollout, now)
    if joined or not look[rollout.wave].over:
        return 0
    if rollout.state == "running":
        await context.store.run(rollouts.end_wave(rollout, now))
        if rollout.wave == _LAST:
            log.info("rollout done", extra={"bundle": rollout.bundle, "updated": rollout.updated})
    return _IDLE_PERIODS if rollout.wave == _LAST else 0


def is_halted(wave: Wave) -> bool:
    """Whether so many of the wave's accounts have failed that no more may be begun: of few, all of them."""
    failed = wave.counts["failed"]
    return failed > min(_MOST_FAILED, wave.total - 1) and failed > _MOST_FAILED_SHARE * wave.total


def is_worse(new: int, of_new: int, others: int, of_others: int) -> bool:
    """Whether what `new` of so many of the wave's accounts tell is more than what the others do, and no chance."""
    if of_others < _LEAST_COMPARED:
        return False
    return new > _MOST_FAILED and new > (_TIMES * others / of_others + _MOST_FAILED_SHARE) * of_new


async def _trouble(context: Context, rollout: Rollout, wave: Wave) -> HaltReason | None:
    if not rollout.watched or rollout.state != "running":
        return None
    if is_halted(wave):
        return "failures"
    return rise(*await context.store.read(waves.compared(rollout)))


def rise(new: Reports, others: Reports) -> HaltReason | None:
    """What the wave's workers tell that the others do not."""
    if is_worse(new.errors, new.accounts, others.errors, others.accounts):
        return "errors"
    worse = (
        is_worse(number, new.fresh, others.dropped[reason], others.fresh) for reason, number in new.dropped.items()
    )
    return "dropped" if any(worse) else None


async def _note(context: Context, rollout: Rollout, look: list[Wave]) -> None:
    updated = sum(wave.counts["updated"] + wave.counts["seen_once"] for wave in look)
    failed = sum(wave.counts["failed"] for wave in look)
    if (updated, failed) != (rollout.updated, rollout.failed):
        await context.store.run(rollouts.note(rollout, updated, failed))


async def _begin_wave(context: Context, rollout: Rollout, now: int) -> None:
    size: int | None = None
    found: list[Candidate] = []
    if rollout.wave < _LAST:
        total, first_user = await context.store.read(waves.installed())
        all_found = await _candidates(context, rollout, now, most=_ALL)
        if rollout.wave == 0:
            found = _canaries(context, rollout, all_found, first_user)
            size = len(found)
        else:
            size = math.ceil(_SHARES[rollout.wave] * total)
            found = _chosen(rollout, all_found, size)
    members = [(one.account_id, _turn(context, rollout, one, now, now)) for one in found]
    if await context.store.run(rollouts.begin_wave(rollout, size, members, now)) and found:
        log.info("a wave begins", extra={"bundle": rollout.bundle, "wave": WAVES[rollout.wave], "accounts": size})


def _canaries(context: Context, rollout: Rollout, found: list[Candidate], first_user: int | None) -> list[Candidate]:
    """The accounts that are the operator's own; where none of them can be updated now, any one."""
    named = context.config.worker.canary
    own = [one for one in found if (one.edge_account_id in named if named else one.user_id == first_user)]
    return own or _chosen(rollout, found, 1)


def _chosen(rollout: Rollout, found: list[Candidate], most: int) -> list[Candidate]:
    """So many of the accounts, by a hash that makes them others for each bundle."""
    return heapq.nsmallest(most, found, key=lambda one: zlib.crc32(f"{rollout.bundle} {one.account_id}".encode()))


def _turn(context: Context, rollout: Rollout, one: Candidate, began_at: int, now: int) -> int:
    """When an account's turn in the wave is (epoch ms)."""
    if rollout.wave == 0:
        return now
    return max(now, began_at + int(spread(one.edge_account_id) * context.config.timing.wave_s * 1000))


async def _fill(context: Context, rollout: Rollout, wave: Wave, now: int) -> bool:
    """Let accounts join the wave that lacks some, or have their turn again; whether any did."""
    found: list[Candidate] = []
    if rollout.wave_size is None:
        before = now - _AGAIN_MS
        failed = await context.store.read(waves.failed_before(rollout, context.bundle.schema, now, before))
        if failed:
            return await context.store.run(rollouts.try_again(rollout, failed, now))
        found = await _candidates(context, rollout, now, most=_MOST_AT_ONCE)
        if not found and wave.over:
            found = await _candidates(context, rollout, now, most=_MOST_AT_ONCE, silent=True)
    elif wave.total < rollout.wave_size:
        all_found = await _candidates(context, rollout, now, most=_ALL)
        found = _chosen(rollout, all_found, rollout.wave_size - wave.total)
    if not found:
        return False
    began_at = rollout.wave_began_at or now
    members = [(one.account_id, _turn(context, rollout, one, began_at, now)) for one in found]
    return await context.store.run(rollouts.join(rollout, members, now))


async def _candidates(
    context: Context, rollout: Rollout, now: int, *, most: int, silent: bool = False
) -> list[Candidate]:
    return await context.store.read(waves.candidates(rollout, context.bundle.schema, now, silent=silent, most=most))


async def _begin_due(context: Context, rollout: Rollout, now: int) -> None:
    most = context.config.worker.updates_at_once - await context.store.read(waves.working())
    for account_id in await context.store.read(waves.due(rollout, context.bundle.schema, now, most)):
        try:
            await context.store.run(waves.begin_update(rollout, account_id, new_id("op"), now))
        except (Conflict, NotFound) as error:
            log.info("not updated now", extra={"account": account_id, "why": error.message})
