"""Tests that the supervisor runs one call at a time per account, isolates crashes, and ends all waits at shutdown.

The store is real. Tests with an account define their own duties. The clock is also real, but events determine the
order, so no result depends on the duration of a step.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import pytest
import trio
import trio.testing

from svc.actors.context import Context
from svc.actors.supervisor import open_supervisor
from svc.config import Config, LimitsConfig, TimingConfig
from svc.errors import Busy, NotFound, ServiceError, Stopping
from svc.store.versions import bump_version
from tests.actors.conftest import idle
from tests.store.makers import an_account
from tests.store.table import Late

if TYPE_CHECKING:
    from svc.actors.account import AccountActor
    from svc.model import Account
    from svc.store.tx import Store, Tx

A, B = "a" * 32, "b" * 32


@pytest.fixture
def context(store, clock):
    config = Config(timing=TimingConfig(drain_s=1, crash_backoff_s=0.01), limits=LimitsConfig(mailbox_depth=3))
    none = cast("Any", None)  # these tests do not call Cloudflare
    return Context(store=store, edge=none, vault=none, config=config, clock=clock, bundle=none, push_url="")


@pytest.mark.rule("A10")
async def test_account_serves_one_call_at_a_time_in_order(context):
    order: list[str] = []

    async def work(name: str) -> str:
        order.append(f"{name} begins")
        await trio.testing.wait_all_tasks_blocked()
        order.append(f"{name} ends")
        return name

    async with open_supervisor(context) as supervisor, trio.open_nursery() as nursery:
        actor = supervisor.account(A)
        for name in "123":
            nursery.start_soon(actor.ask, lambda name=name: work(name))
            await trio.lowlevel.checkpoint()
    assert len(order) == 6
    for begins, ends in zip(order[::2], order[1::2], strict=True):
        assert (begins.split()[0], begins.split()[1], ends) == (ends.split()[0], "begins", f"{ends.split()[0]} ends")


async def test_two_accounts_do_not_wait_for_each_other(context):
    met = trio.Event()

    async def wait() -> None:
        await met.wait()

    async def meet() -> None:
        met.set()

    async with open_supervisor(context) as supervisor, trio.open_nursery() as nursery:
        nursery.start_soon(supervisor.account(A).ask, wait)
        await supervisor.account(B).ask(meet)


async def test_cancelled_caller_does_not_stop_the_work(context):
    begun, go_on, done = trio.Event(), trio.Event(), trio.Event()

    async def work() -> None:
        begun.set()
        await go_on.wait()
        done.set()

    async with open_supervisor(context) as supervisor, trio.open_nursery() as nursery:
        caller = trio.CancelScope()

        async def ask() -> None:
            with caller:
                await supervisor.account(A).ask(work)

        nursery.start_soon(ask)
        await begun.wait()
        caller.cancel()
        go_on.set()
        await done.wait()


async def test_refusal_is_raised_to_the_caller(context):
    async def work() -> None:
        raise NotFound

    async with open_supervisor(context) as supervisor:
        with pytest.raises(NotFound):
            await supervisor.account(A).ask(work)


async def test_crash_is_answered_and_logged_and_affects_nothing_else(context, expected_errors):
    expected_errors.allow("actor crashed")

    async def crash() -> None:
        raise RuntimeError("a bug")

    async def fine() -> str:
        return "fine"

    async with open_supervisor(context) as supervisor:
        with pytest.raises(ServiceError) as refused:
            await supervisor.account(A).ask(crash)
        assert refused.value.code == "internal"
        assert await supervisor.account(A).ask(fine) == "fine"
        assert await supervisor.account(B).ask(fine) == "fine"


async def test_calls_beyond_the_mailbox_depth_raise_busy(context):
    begun, go_on = trio.Event(), trio.Event()

    async def block() -> None:
        begun.set()
        await go_on.wait()

    async def nothing() -> None:
        return None

    async with open_supervisor(context) as supervisor, trio.open_nursery() as nursery:
        actor = supervisor.account(A)
        nursery.start_soon(actor.ask, block)
        await begun.wait()
        for _ in range(3):
            nursery.start_soon(actor.ask, nothing)
        while len(actor.mailbox) < 3:
            await trio.lowlevel.checkpoint()
        with pytest.raises(Busy):
            await actor.ask(nothing)
        go_on.set()


async def test_shutdown_finishes_running_work_and_serves_queued_work(context):
    done: list[str] = []
    begun = trio.Event()

    async def work(name: str) -> None:
        begun.set()
        await trio.lowlevel.checkpoint()
        done.append(name)

    async with trio.open_nursery() as nursery:
        async with open_supervisor(context) as supervisor:
            actor = supervisor.account(A)
            for name in "12":
                nursery.start_soon(actor.ask, lambda name=name: work(name))
            await begun.wait()
        with pytest.raises(Stopping):
            await actor.ask(lambda: work("late"))
    assert sorted(done) == ["1", "2"]


async def test_work_not_finished_by_the_drain_is_cancelled_and_its_callers_get_stopping(context):
    begun = trio.Event()
    heard: list[str] = []

    async def forever() -> None:
        begun.set()
        await trio.sleep_forever()

    async def ask(actor: Any, name: str) -> None:
        try:
            await actor.ask(forever)
        except Stopping:
            heard.append(name)

    async with trio.open_nursery() as nursery, open_supervisor(context) as supervisor:
        actor = supervisor.account(A)
        nursery.start_soon(ask, actor, "running")
        await begun.wait()
        nursery.start_soon(ask, actor, "queued")
        while not len(actor.mailbox):
            await trio.lowlevel.checkpoint()
    assert sorted(heard) == ["queued", "running"]


async def test_idle_account_has_no_actor(context):
    async def nothing() -> None:
        return None

    async with open_supervisor(context) as supervisor:
        await supervisor.account(A).ask(nothing)
        while supervisor.stats()["running"]:
            await trio.lowlevel.checkpoint()
        assert supervisor.stats() == {"known": 0, "running": 0, "scheduled": 0}


class CountingDuty:
    """A duty that counts its runs. In each run, it waits for a signal from the test."""

    def __init__(self) -> None:
        self.count = 0
        self.begun = trio.Event()
        self.released = trio.Event()

    async def __call__(self, _context: Any, _account: Any, _timers: Any) -> float:
        self.count += 1
        self.begun.set()
        await self.released.wait()
        return math.inf


async def test_change_while_the_duties_run_is_not_missed(context):
    runs = CountingDuty()
    account_id = await context.store.run(an_account(edge_account_id=A))
    async with open_supervisor(context, (runs,)) as supervisor:
        # When the supervisor starts, the account is due, because its connect operation was interrupted.
        await runs.begun.wait()
        await context.store.run(bump_version(account_id))
        runs.released.set()
        await idle(supervisor)
    assert runs.count == 2


class StoreWithHook:
    """A store that calls `after_read` after each read."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.after_read = trio.lowlevel.checkpoint

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def read(self, tx: Tx[Any]) -> Any:
        value = await self._store.read(tx)
        await self.after_read()
        return value


async def test_request_that_arrives_between_two_duties_comes_before_the_second(context):
    store = StoreWithHook(context.store)
    actors: list[AccountActor] = []
    order: list[str] = []
    await context.store.run(an_account(edge_account_id=A))

    async def request() -> None:
        order.append("request")

    async def send_request() -> None:
        store.after_read = trio.lowlevel.checkpoint
        nursery.start_soon(actors[0].ask, request)
        while not len(actors[0].mailbox):
            await trio.lowlevel.checkpoint()

    async def first(_context: Any, _account: Any, _timers: Any) -> float:
        if actors and not order:
            store.after_read = send_request
        order.append("first")
        return math.inf

    async def second(_context: Any, _account: Any, _timers: Any) -> float:
        order.append("second")
        return math.inf

    with_hook = replace(context, store=cast("Store", store))
    async with trio.open_nursery() as nursery, open_supervisor(with_hook, (first, second)) as supervisor:
        await idle(supervisor)
        order.clear()
        actors.append(supervisor.account(A))
        actors[0].wake()
        await idle(supervisor)
    assert order == ["first", "request", "first", "second"]


async def test_change_wakes_its_account_and_no_other(context):
    runs: list[str] = []

    async def duty(_context: Any, account: Account, _timers: Any) -> float:
        runs.append(account.edge_account_id)
        return math.inf

    account_id = await context.store.run(an_account(edge_account_id=A))
    await context.store.run(an_account(edge_account_id=B))
    async with open_supervisor(context, (duty,)) as supervisor:
        while supervisor.stats()["scheduled"] or supervisor.stats()["running"]:
            await trio.lowlevel.checkpoint()
        runs.clear()
        await context.store.run(bump_version(account_id))
        await idle(supervisor)
        assert runs == [A]


async def test_change_wakes_its_account_after_its_caller_was_cancelled(context):
    woken = trio.Event()
    runs = 0

    async def duty(_context: Any, _account: Any, _timers: Any) -> float:
        nonlocal runs
        runs += 1
        if runs > 1:
            woken.set()
        return math.inf

    account_id = await context.store.run(an_account(edge_account_id=A))
    async with open_supervisor(context, (duty,)) as supervisor:
        while supervisor.stats()["scheduled"] or supervisor.stats()["running"]:
            await trio.lowlevel.checkpoint()
        late = Late(bump_version(account_id))
        with trio.CancelScope() as caller:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(context.store.run, late.tx())
                await late.begun()
                caller.cancel()
                late.go_on()
        await woken.wait()
