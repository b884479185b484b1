"""The kernel: one call at a time per account, crashes stay where they are, nobody waits for ever at the end.

The real store is below it (where there is an account in it, its duties are the test's); real time passes, but no test
waits for any: order is made by events.
"""

from __future__ import annotations

import math
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
    from svc.model import Account

A, B = "a" * 32, "b" * 32


@pytest.fixture
def context(store, clock):
    config = Config(timing=TimingConfig(drain_s=1, crash_backoff_s=0.01), limits=LimitsConfig(mailbox_depth=3))
    none = cast("Any", None)  # no operation of these tests reaches the platform
    return Context(store=store, edge=none, vault=none, config=config, clock=clock, bundle=none, push_url="")


@pytest.mark.rule("A10")
async def test_an_account_serves_one_call_at_a_time_and_in_order(context):
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


async def test_a_caller_who_leaves_does_not_stop_the_work(context):
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


async def test_a_refusal_is_an_answer(context):
    async def work() -> None:
        raise NotFound

    async with open_supervisor(context) as supervisor:
        with pytest.raises(NotFound):
            await supervisor.account(A).ask(work)


async def test_a_crash_is_answered_logged_and_leaves_the_rest_alone(context, expected_errors):
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


async def test_more_than_the_mailbox_holds_is_busy(context):
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


async def test_at_the_end_running_work_is_finished_and_queued_work_is_served(context):
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


async def test_what_the_drain_did_not_finish_is_cancelled_and_its_callers_hear_it(context):
    begun = trio.Event()
    heard: list[str] = []

    async def for_ever() -> None:
        begun.set()
        await trio.sleep_forever()

    async def ask(actor: Any, name: str) -> None:
        try:
            await actor.ask(for_ever)
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


async def test_an_idle_account_costs_nothing(context):
    async def nothing() -> None:
        return None

    async with open_supervisor(context) as supervisor:
        await supervisor.account(A).ask(nothing)
        while supervisor.stats()["running"]:
            await trio.lowlevel.checkpoint()
        assert supervisor.stats() == {"known": 0, "running": 0, "scheduled": 0}


class Looks:
    """A duty that counts how often it is done, and waits for the test each time."""

    def __init__(self) -> None:
        self.count = 0
        self.begun = trio.Event()
        self.go_on = trio.Event()

    async def __call__(self, _context: Any, _account: Any, _timers: Any) -> float:
        self.count += 1
        self.begun.set()
        await self.go_on.wait()
        return math.inf


async def test_a_change_that_comes_while_the_duties_run_is_not_missed(context):
    looks = Looks()
    account_id = await context.store.run(an_account(edge_account_id=A))
    async with open_supervisor(context, (looks,)) as supervisor:
        # The account is due at the start, by itself: its connect was cut short.
        await looks.begun.wait()
        await context.store.run(bump_version(account_id))
        looks.go_on.set()
        await idle(supervisor)
    assert looks.count == 2


async def test_a_change_wakes_its_account_and_no_other(context):
    looks: list[str] = []

    async def look(_context: Any, account: Account, _timers: Any) -> float:
        looks.append(account.edge_account_id)
        return math.inf

    account_id = await context.store.run(an_account(edge_account_id=A))
    await context.store.run(an_account(edge_account_id=B))
    async with open_supervisor(context, (look,)) as supervisor:
        while supervisor.stats()["scheduled"] or supervisor.stats()["running"]:
            await trio.lowlevel.checkpoint()
        looks.clear()
        await context.store.run(bump_version(account_id))
        await idle(supervisor)
        assert looks == [A]


async def test_a_change_whose_caller_hung_up_wakes_its_account_all_the_same(context):
    woken = trio.Event()
    looks = 0

    async def look(_context: Any, _account: Any, _timers: Any) -> float:
        nonlocal looks
        looks += 1
        if looks > 1:
            woken.set()
        return math.inf

    account_id = await context.store.run(an_account(edge_account_id=A))
    async with open_supervisor(context, (look,)) as supervisor:
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
