"""Execution of recorded operations: their steps, retries and failures.

    steps, in order ──► done ──► (selfcheck: only waits for the Worker's first push) ──► finished
      │ ▲
      │ └── transient failure: all steps again, after 2, 4, 8 … s, or after Cloudflare's Retry-After
      └──── refused, out of attempts, or daily row limit reached: failed

Each attempt starts again with the first step. This is possible because each step first checks whether its work is
already done.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import trio

from svc.edge.responses import DailyLimit
from svc.errors import EdgeUnavailable, ErrorNote, ServiceError, StoreUnavailable
from svc.store import accounts, operations

if TYPE_CHECKING:
    from svc.actors.context import Context
    from svc.actors.duty import Timers
    from svc.model import Account, Operation
    from svc.store.tx import Tx

log = logging.getLogger(__name__)

# The maximum number of attempts. The pauses between them usually add up to about four minutes. If the last attempt also
# ends with a transient failure, the operation fails, and the user sees this failure.
ATTEMPTS = 8
_ATTEMPT_S = 120.0
# The longest Retry-After, in seconds, that the service respects. Cloudflare blocks a token for five minutes after
# more than 1,200 calls in five minutes (Cloudflare docs, "Limits").
_LONGEST_BLOCK_S = 300.0
# Details of an error that mark it as temporary, so that the user knows that a later attempt may succeed.
_TRANSIENT = {"transient": True}


@dataclass(frozen=True)
class Job:
    """The input of a step. `account` and `operation` were current when the step began."""

    context: Context
    account: Account
    operation: Operation


Step = Callable[[Job], Awaitable[None]]


@dataclass(frozen=True)
class Work:
    """The steps and transactions of one kind of operation.

    All fields except `steps` are functions that return a transaction. They receive the current time (epoch ms).

    `begin` receives the ids of the account and of the new operation. The names of the `steps` are shown to the user.
    `done` runs after the last step, and finishes the operation or starts its self-check. `failed` ends an operation
    that cannot be completed. `unconfirmed` ends a self-check if the Worker does not push in time. If `unconfirmed` is
    None, operations of this kind have no self-check.
    """

    begin: Callable[[str, str, int], Tx[Account]]
    steps: tuple[tuple[str, Step], ...]
    done: Callable[[Operation, int], Tx[None]]
    failed: Callable[[Operation, ErrorNote, int], Tx[None]]
    unconfirmed: Callable[[Operation, int], Tx[None]] | None = None


async def resume(context: Context, work: Work, operation: Operation, timers: Timers) -> float:
    """Continue a running operation if it is due. Return the time of the next call (monotonic seconds)."""
    if operation.step == operations.SELFCHECK and work.unconfirmed is not None:
        return await _watch_selfcheck(context, operation, work.unconfirmed)
    if trio.current_time() < timers.operation_at:
        return timers.operation_at
    failure: ErrorNote | None = None
    try:
        with trio.fail_after(_ATTEMPT_S):
            await _attempt(context, work, operation)
    except StoreUnavailable:
        raise  # a failure of the store, and not of the operation
    except DailyLimit as error:  # D1 refuses writes until midnight UTC, and the operation cannot wait that long
        failure = ErrorNote("cloudflare_error", error.message, {**(error.details or {}), **_TRANSIENT})
    except (EdgeUnavailable, trio.TooSlowError) as error:
        if operation.attempts + 1 < ATTEMPTS:
            retry_after_s = error.retry_after_s if isinstance(error, EdgeUnavailable) else None
            return await _wait(context, operation, timers, retry_after_s or 0)
        reason = error.message if isinstance(error, ServiceError) else "It took too long."
        failure = ErrorNote("cloudflare_error", f"Gave up after {ATTEMPTS} attempts: {reason}", dict(_TRANSIENT))
    except ServiceError as error:
        failure = error.to_note()
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


async def _wait(context: Context, operation: Operation, timers: Timers, retry_after_s: float) -> float:
    attempts = operation.attempts + 1
    wait_s = max(2.0**attempts, min(retry_after_s, _LONGEST_BLOCK_S))
    log.info(
        "operation delayed",
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
