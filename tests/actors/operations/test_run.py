"""Tests that recorded operations of every kind run, wait and fail in the same way. The tests define their own kinds of
operations.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import pytest
import trio

from svc.actors import operations as recorded
from svc.actors.context import Context
from svc.actors.duty import Timers
from svc.actors.operations import install, run
from svc.actors.operations.run import Work
from svc.config import Config
from svc.edge.responses import DailyLimit
from svc.errors import EdgeRefused, EdgeUnavailable, ErrorNote, StoreUnavailable
from svc.store import accounts, installs, operations
from svc.store.tx import sql
from tests.clock import START_MS
from tests.store.makers import an_account

if TYPE_CHECKING:
    from svc.actors.operations.run import Job
    from svc.model import Operation
    from svc.store.tx import Tx

NONE = cast("Any", None)


@pytest.fixture
def context(store, clock):
    """A service's context. The operations do not call Cloudflare."""
    return Context(store=store, edge=NONE, vault=NONE, config=Config(), clock=clock, bundle=NONE, push_url="")


@pytest.fixture
async def operation(store):
    """A running operation of a new account."""
    return await store.read(operations.running(await store.run(an_account(link_host=False))))


def failed(operation: Operation, error: ErrorNote, now: int) -> Tx[None]:
    return operations.fail(operation.id, error, now)


def finished(operation: Operation, now: int) -> Tx[None]:
    return operations.finish(operation.id, now)


def work_of(*steps, done=finished):
    return Work(begin=NONE, steps=steps, done=done, failed=failed)


async def fail(job: Job) -> None:
    raise EdgeUnavailable("HTTP 500", remote_status=500)


async def test_each_step_is_shown_and_gets_current_rows(store, context, operation):
    seen = []

    async def make(job):
        shown = await store.read(operations.running(job.account.id))
        seen.append((shown.step, job.operation.step, job.account.database_id))
        await store.run(installs.set_database(job.account.id, "db1"))

    await run.resume(context, work_of(("one", make), ("two", make)), operation, Timers(0))
    assert seen == [("one", "one", None), ("two", "two", "db1")]
    assert (await store.read(operations.latest(operation.account_id))).state == "done"


async def test_transient_failures_are_retried_and_counted_until_the_operation_fails(store, context, operation):
    done = []

    async def first(job):
        done.append(job.operation.attempts)

    timers = Timers(0)
    for attempt in range(1, run.ATTEMPTS):
        before = trio.current_time()
        again_at = await run.resume(context, work_of(("one", first), ("two", fail)), operation, timers)
        assert before + 2**attempt <= again_at <= trio.current_time() + 2**attempt
        operation = await store.read(operations.running(operation.account_id))
        assert (operation.attempts, operation.step) == (attempt, "two")
        # the operation is not due before the time that it set
        assert await run.resume(context, work_of(("one", first)), operation, timers) == again_at
        timers.operation_at = 0
    await run.resume(context, work_of(("one", first), ("two", fail)), operation, timers)
    ended = await store.read(operations.latest(operation.account_id))
    message = f"Gave up after {run.ATTEMPTS} attempts: HTTP 500"
    assert (ended.state, ended.error) == ("failed", ErrorNote("cloudflare_error", message, {"transient": True}))
    assert done == list(range(run.ATTEMPTS))  # every attempt starts with the first step


@pytest.mark.parametrize(
    ("error", "code", "more"),
    [
        (EdgeRefused("name_taken", "The account has a worker of this name.", remote_status=409), "name_taken", {}),
        (DailyLimit("write", remote_status=400, remote_code=7429), "cloudflare_error", {"transient": True}),
    ],
)
async def test_final_error_ends_the_operation_immediately(store, context, operation, error, code, more):
    async def fail_with(job):
        raise error

    await run.resume(context, work_of(("one", fail_with)), operation, Timers(0))
    ended = await store.read(operations.latest(operation.account_id))
    assert (ended.state, ended.error) == ("failed", ErrorNote(code, error.message, {**error.details, **more}))


@pytest.mark.parametrize(("asked_s", "wait_s"), [(None, 2), (1, 2), (170, 170), (300, 300), (86_000, 300)])
async def test_rate_limit_block_is_waited_out(store, context, operation, asked_s, wait_s):
    async def fail_with(job):
        raise EdgeUnavailable("Cloudflare throttles this token.", remote_status=429, retry_after_s=asked_s)

    before = trio.current_time()
    due = await run.resume(context, work_of(("one", fail_with)), operation, Timers(0))
    assert before + wait_s <= due <= trio.current_time() + wait_s
    assert (await store.read(operations.running(operation.account_id))).attempts == 1


async def test_store_failure_does_not_count_against_the_operation(store, context, operation):
    async def fail_with(job):
        raise StoreUnavailable

    with pytest.raises(StoreUnavailable):
        await run.resume(context, work_of(("one", fail_with)), operation, Timers(0))
    still = await store.read(operations.running(operation.account_id))
    assert (still.id, still.attempts) == (operation.id, 0)


async def test_operation_is_still_shown_after_its_end_deleted_the_account(store, context, operation):
    def gone(operation: Operation, now: int) -> Tx[None]:
        yield from operations.finish(operation.id, now)
        yield sql("delete from accounts where id = $1", operation.account_id)

    async def do_nothing(job):
        pass

    await run.resume(context, work_of(("routes", do_nothing), ("token", do_nothing), done=gone), operation, Timers(0))
    assert await store.read(accounts.account_by_id(operation.account_id)) is None
    ended = await store.read(operations.latest(operation.account_id))
    assert (ended.id, ended.state, ended.step) == (operation.id, "done", "token")


@pytest.mark.parametrize("kind", ["connect", "renew"])
async def test_unknown_kind_cannot_be_begun_and_its_row_is_not_touched(store, context, operation, kind):
    with pytest.raises(KeyError, match=kind):
        await recorded.begin(context, kind, operation.account_id, lambda effect: effect)
    await store.run(of_kind(operation.id, kind))
    account = accounts.present(await store.read(accounts.account_by_id(operation.account_id)))
    assert await recorded.resume_when_due(context, account, Timers(0)) == math.inf
    assert await store.read(operations.running(account.id)) == replace(operation, kind=kind)


def of_kind(operation_id: str, kind: str) -> Tx[None]:
    yield sql("update operations set kind = $2 where id = $1", operation_id, kind)


@pytest.mark.rule("A11")
async def test_self_check_is_due_again_at_the_end_of_its_window(store, context, operation):
    await store.run(operations.set_step(operation.id, operations.SELFCHECK, START_MS))
    waiting = await store.read(operations.running(operation.account_id))
    window_s = context.config.timing.selfcheck_window_s
    assert window_s == 15 * 60
    before = trio.current_time()
    due = await run.resume(context, install.WORK, waiting, Timers(0))
    assert before + window_s <= due <= trio.current_time() + window_s
    context.clock.advance_s(window_s)
    assert await run.resume(context, install.WORK, waiting, Timers(0)) == math.inf
    account = accounts.present(await store.read(accounts.account_by_id(operation.account_id)))
    ended = await store.read(operations.latest(operation.account_id))
    assert (account.warnings, ended.state, ended.error.code) == (("not_confirmed",), "failed", "self_check_timeout")
