"""The rollout of a new Worker version: first to a few canary accounts, then to all others.

    canary accounts updated ──► they push for [worker] canary_wait_s ──► all other accounts, spread over [worker]
    spread_s

The rollout halts when too many updates fail. An update fails if Cloudflare refuses it, or if the new Worker does not
push in time or stops pushing. When a rollout halts, the service logs this once at level ERROR. The command `svc rollout
resume` continues the rollout, and a new Worker version starts a new rollout. All state is in the store, so a rollout
continues after a restart, and the operator's commands take effect at the next poll. The accounts' actors carry out the
updates.
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
    from collections.abc import Sequence

    from svc.actors.context import Context
    from svc.model import Rollout, UpdateOutcome
    from svc.store.rollouts import Candidate, Progress

log = logging.getLogger(__name__)

# The number of canary accounts if the configuration names none.
_CANARIES = 3
# The number of failures, among the newest `rollouts.RECENT` outcomes, at which the rollout halts.
_MAX_FAILED = 4
# Maximum number of updated accounts whose new Worker has not pushed yet, as a multiple of `updates_at_once`. This
# limits the damage that a broken Worker can cause.
_UNCONFIRMED = 4
# The time after which a failed update is retried, but only if no account is still waiting for its first attempt.
_RETRY_MS = 6 * HOUR_MS
# The time between two polls while there is nothing to update, as a multiple of `rollout_every_s`.
_IDLE_PERIODS = 20
# If the last poll is older than both `_AWAY_MS` and `_AWAY_PERIODS` periods, the service was down. Missing pushes from
# that time do not mean that a Worker has failed.
_AWAY_MS = 600_000
_AWAY_PERIODS = 2 * _IDLE_PERIODS
_STORE_WAIT_S = 30.0


async def run_rollout(context: Context) -> None:
    """Roll out the service's Worker to all accounts. Runs until cancelled; errors are logged."""
    if not context.config.worker.auto_update:
        return
    every_s = wait_s = context.config.timing.rollout_every_s
    seen: Rollout | None = None
    idle = 0
    while True:
        await trio.sleep(wait_s)
        wait_s = every_s
        with contained(log, "rollout failed"):
            try:
                # End the wait early if a command has changed the rollout.
                newest = await context.store.read(rollouts.newest())
                if idle > 0 and newest == seen:
                    idle -= 1
                    continue
                idle = await advance(context)
                seen = await context.store.read(rollouts.newest())
            except StoreUnavailable:
                wait_s = min(wait_s, _STORE_WAIT_S)


async def advance(context: Context) -> int:
    """Record the outcomes of updates and begin the updates that are due.

    Returns the number of periods (`rollout_every_s`) to wait before the next call. The wait ends early if the stored
    rollout changes.
    """
    now = context.clock()
    if context.config.push_url_problem(context.push_url) is not None:
        return _IDLE_PERIODS  # Workers cannot push to this URL; the service logged this at startup
    away_ms = max(_AWAY_MS, int(_AWAY_PERIODS * context.config.timing.rollout_every_s * 1000))
    rollout, progress = await context.store.run(rollouts.poll(context.bundle.sha256, away_ms, now))
    if rollout.started_at == now:
        log.info("rollout started", extra={"bundle": rollout.bundle})
    if rollout.state == "halted":
        return _IDLE_PERIODS
    if rollout.state == "running" and is_failing(progress.recent, progress.counts["under_way"]):
        # Log this only if no command has halted the rollout in the meantime.
        if await context.store.run(rollouts.stop(rollout, "failures", now)):
            fields = {"bundle": rollout.bundle, "updated": rollout.updated, "failed": rollout.failed}
            log.error("rollout halted; run `svc rollout status`", extra=fields)
        return _IDLE_PERIODS
    candidates = await context.store.read(rollouts.candidates(rollout, context.bundle.schema, now))
    await _begin_due(context, rollout, progress, candidates, now)
    if progress.counts["under_way"] or not _is_settled(context, rollout, progress, now):
        return 0
    if rollout.spread_from is None and progress.counts["updated"]:
        if await context.store.run(rollouts.begin_spread(rollout, now)):
            log.info("canary updates finished, updating all accounts", extra={"bundle": rollout.bundle})
        return 0
    retried = False if candidates else await context.store.run(rollouts.retry(rollout, now - _RETRY_MS))
    if candidates or retried:
        return 0
    if rollout.state == "running" and await context.store.run(rollouts.stop(rollout, None, now)):
        log.info("rollout done", extra={"bundle": rollout.bundle, "updated": rollout.updated})
    return _IDLE_PERIODS


def is_failing(recent: Sequence[UpdateOutcome], under_way: int) -> bool:
    """Return True if too many of the newest updates failed.

    `_MAX_FAILED` failures are too many. If no update is running (`under_way` is 0), the function also returns True if
    more than half of these updates failed.
    """
    failed = recent.count("failed")
    return failed >= _MAX_FAILED or (not under_way and 2 * failed > len(recent))


def _is_settled(context: Context, rollout: Rollout, progress: Progress, now: int) -> bool:
    """Return True if the canaries' new Workers have run for `canary_wait_s` while the service could receive pushes."""
    settled_at = progress.last_ended_at + int(context.config.worker.canary_wait_s * 1000)
    return not progress.begun or now >= max(settled_at, rollout.patient_until)


async def _begin_due(
    context: Context, rollout: Rollout, progress: Progress, waiting: list[Candidate], now: int
) -> None:
    worker = context.config.worker
    most = min(
        worker.updates_at_once - await context.store.read(rollouts.working()),
        _UNCONFIRMED * worker.updates_at_once - progress.counts["under_way"],
    )
    if rollout.spread_from is None:
        waiting = _canaries(context, progress, waiting)
    else:
        share = min(1.0, (now - rollout.spread_from) / (worker.spread_s * 1000))
        most = min(most, math.ceil(share * (progress.begun + len(waiting))) - progress.begun)
    for candidate in waiting[: max(0, most)]:
        try:
            await context.store.run(rollouts.begin_update(rollout, candidate.account_id, new_id("op"), now))
        except (Conflict, NotFound) as error:
            log.info("update skipped", extra={"account": candidate.account_id, "why": error.message})


def _canaries(context: Context, progress: Progress, waiting: list[Candidate]) -> list[Candidate]:
    """Return the canary accounts to update next.

    These are the configured accounts. If none are configured, the first user's accounts are canaries; if the first user
    has none, any accounts are.
    """
    named = context.config.worker.canary
    tried = len(progress.recent) + progress.counts["under_way"]
    own = [each for each in waiting if (each.edge_account_id in named if named else each.is_first_user)]
    return (own or ([] if tried else waiting))[: max(0, (len(named) or _CANARIES) - tried)]
