"""How recorded operations run: one way to work, to wait, to count attempts and to fail.

    steps, in order ──► done ──► (selfcheck: only waits for the worker's first push) ──► finished
      │ ▲
      │ └── transient failure: all steps again, after 2, 4, 8 … s, or when the platform's own wait is over
      └──── refused, used up its attempts, or the account's rows of the day are used up: failed

An attempt begins with the first step, whichever the one before came to: each step looks its effect up before it makes
it, and may be repeated.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import trio

from svc.edge.answers import DailyLimit
from svc.errors import EdgeUnavailable, ErrorNote, ServiceError, StoreUnavailable
from svc.store import accounts, operations

if TYPE_CHECKING:
    from svc.actors.context import Context
    from svc.actors.duty import Timers
    from svc.model import Account, Operation
    from svc.store.tx import Tx

log = logging.getLogger(__name__)

# After so many transient failures the operation has failed and the user is told: some four minutes of waits.
ATTEMPTS = 8
_ATTEMPT_S = 120.0
# A token that made 1,200 calls in five minutes is blocked for as long (platform docs: limits): waited out as asked.
_LONGEST_BLOCK_S = 300.0
# Among the details of a failure that says nothing of what was tried: the same may go well another time.
_TRANSIENT = {"transient": True}


@dataclass(frozen=True)
class Job:
    """What a step works on: the rows as they are when it begins."""

    context: Context
    account: Account
    operation: Operation


Step = Callable[[Job], Awaitable[None]]


@dataclass(frozen=True)
class Work:
    """What is done in operations of one kind; all of it but the steps are transactions, and get the time (epoch ms).

    `begin` takes the ids of the account and of the operation to be. `steps` have the names that the user is shown.
    `done` follows the last step; it finishes the operation or sets it to its self-check. `unconfirmed` ends a
    self-check that the worker did not answer in time; None: this kind has none.
    """

    begin: Callable[[str, str, int], Tx[Account]]
    steps: tuple[tuple[str, Step], ...]
    done: Callable[[Operation, int], Tx[None]]
    failed: Callable[[Operation, ErrorNote, int], Tx[None]]
    unconfirmed: Callable[[Operation, int], Tx[None]] | None = None


async def resume(context: Context, work: Work, operation: Operation, timers: Timers) -> float:
    """Work on a running operation if it is due. Returns when to look at it again (monotonic seconds)."""
    if operation.step == operations.SELFCHECK and work.unconfirmed is not None:
        return await _watch_selfcheck(context, operation, work.unconfirmed)
    if trio.current_time() < timers.operation_at:
        return timers.operation_at
    failure: ErrorNote | None = None
    try:
        with trio.fail_after(_ATTEMPT_S):
            await _attempt(context, work, operation)
    except StoreUnavailable:
        raise  # no fault of the operation
    except DailyLimit as error:  # nothing is taken before midnight UTC: the user may want to know now
        failure = ErrorNote("cloudflare_error", error.message, {**(error.details or {}), **_TRANSIENT})
    except (EdgeUnavailable, trio.TooSlowError) as error:
        if operation.attempts + 1 < ATTEMPTS:
            asked_s = error.retry_after_s if isinstance(error, EdgeUnavailable) else None
            return await _wait(context, operation, timers, asked_s or 0)
        reason = error.message if isinstance(error, ServiceError) else "It took too long."
        failure = ErrorNote("cloudflare_error", f"The edge platform failed: {reason}", dict(_TRANSIENT))
    except ServiceError as error:
        failure = error.note()
    if failure is not None:
        await context.store.run(work.failed(operation, failure, context.clock()))
    timers.operation_at = 0
    return trio.current_time()


async def _attempt(context: Context, work: Work, operation: Operation) -> None:
    for name, step in work.steps:
        account = accounts.present(await context.store.read(accounts.account_by_id(operation.account_id)))
        if operation.step != name:
            await context.store.run(operations.set_step(operation.id, name, context.clock()))
            operation = replace(operation, step=name)
        await step(Job(context, account, operation))
    await context.store.run(work.done(operation, context.clock()))


async def _wait(context: Context, operation: Operation, timers: Timers, asked_s: float) -> float:
    attempts = operation.attempts + 1
    wait_s = max(2.0**attempts, min(asked_s, _LONGEST_BLOCK_S))
    log.info(
        "operation waits",
        extra={"account": operation.account_id, "kind": operation.kind, "attempt": attempts, "wait_s": wait_s},
    )
    await context.store.run(operations.count_attempt(operation.id, context.clock()))
    timers.operation_at = trio.current_time() + wait_s
    return timers.operation_at


async def _watch_selfcheck(
    context: Context, operation: Operation, unconfirmed: Callable[[Operation, int], Tx[None]]
) -> float:
    ends_at = operation.updated_at + int(context.config.timing.selfcheck_window_s * 1000)
    now = context.clock()
    if now < ends_at:
        return trio.current_time() + (ends_at - now) / 1000
    await context.store.run(unconfirmed(operation, now))
    return math.inf
