"""Tests that faults in one account do not affect other accounts, and are shown while they last.

An outage of the store does not count as a crash.
"""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any, TypeVar, cast

import pytest
import trio
import trio.testing

from edge_worker.harness.service import eventually
from svc.actors.context import Context
from svc.actors.supervisor import open_supervisor
from svc.config import Config, TimingConfig
from svc.errors import ErrorNote, ServiceError, StoreUnavailable
from svc.store import account_health, accounts, open_store, states
from svc.store.tx import sql
from tests.actors.conftest import idle
from tests.clock import START_MS
from tests.databases import postgres_config, sqlite_config
from tests.store.makers import an_account
from tests.store.passing import Passing

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from svc.actors.supervisor import Supervisor
    from svc.clock import Clock
    from svc.model import Account
    from svc.store.tx import Store, Tx

T = TypeVar("T")

EDGE_ACCOUNT = "a" * 32
NOTE = ErrorNote("internal", "The service failed repeatedly on this account. The operator's log has the details.")


def context_on(store: Store, clock: Clock, crash_backoff_s: float = 0.01) -> Context:
    config = Config(timing=TimingConfig(drain_s=1, crash_backoff_s=crash_backoff_s))
    none = cast("Any", None)  # these tests do not call Cloudflare
    return Context(store=store, edge=none, vault=none, config=config, clock=clock, bundle=none, push_url="")


async def crash_once(supervisor: Supervisor) -> None:
    async def crash() -> None:
        raise RuntimeError("a bug")

    with pytest.raises(ServiceError, match="internal"):
        await supervisor.account(EDGE_ACCOUNT).ask(crash)


def the_error() -> Tx[Any]:
    account = yield from accounts.account_by_edge_id(EDGE_ACCOUNT)
    return accounts.present(account).error


def with_state(state: str) -> Tx[str]:
    account_id = yield from an_account(edge_account_id=EDGE_ACCOUNT, link_host=False)
    yield sql("update accounts set state = $2 where id = $1", account_id, state)
    return account_id


async def test_account_shows_its_crashes_until_it_recovers(store, clock, expected_errors):
    expected_errors.allow("actor crashed")
    await store.run(with_state("ready"))
    # The crashed task restarts only when the test notifies it, so that the test can check the account before that.
    async with open_supervisor(context_on(store, clock, crash_backoff_s=3600)) as supervisor:
        for shown in [None, None, NOTE]:
            await crash_once(supervisor)
            await idle(supervisor)
            assert await store.read(the_error()) == shown
        supervisor.account(EDGE_ACCOUNT).wake()
        await idle(supervisor)
        assert await store.read(the_error()) is None


async def test_existing_error_is_not_replaced_by_a_crash(store, clock, expected_errors):
    expected_errors.allow("actor crashed")
    other = ErrorNote("resource_drift", "It was deleted outside.")
    account_id = await store.run(with_state("ready"))
    await store.run(states.move(account_id, ("ready",), "resource_drift", other, START_MS))
    async with open_supervisor(context_on(store, clock, crash_backoff_s=3600)) as supervisor:
        for _ in range(4):
            await crash_once(supervisor)
            await idle(supervisor)
        assert await store.read(the_error()) == other
        supervisor.account(EDGE_ACCOUNT).wake()
        await idle(supervisor)
        assert await store.read(the_error()) == other


async def test_crash_of_an_earlier_process_is_cleared_once_the_account_runs(store, clock):
    await store.run(with_state("ready"))
    await store.run(account_health.record_crash(EDGE_ACCOUNT, NOTE))
    async with open_supervisor(context_on(store, clock)):

        async def poll() -> bool | None:
            return True if await store.read(the_error()) is None else None

        await eventually(poll)


async def test_crash_is_recognized_by_its_code_not_its_text(store):
    stored = '{"message": "x", "code": "internal"}'
    other = ErrorNote("resource_drift", '{"code": "internal", "x": 1}')
    account_id = await store.run(with_state("ready"))
    await store.run(sql_once("update accounts set error = $2 where id = $1", account_id, stored))
    assert await store.read(account_health.crashed_edge_accounts()) == [EDGE_ACCOUNT]
    await store.run(account_health.clear_crash(EDGE_ACCOUNT))
    assert await store.read(account_health.crashed_edge_accounts()) == []
    assert await store.read(the_error()) is None
    await store.run(states.move(account_id, ("ready",), "resource_drift", other, START_MS))
    assert await store.read(account_health.crashed_edge_accounts()) == []
    await store.run(account_health.clear_crash(EDGE_ACCOUNT))
    assert await store.read(the_error()) == other


def sql_once(text: str, *parameters: Any) -> Tx[None]:
    yield sql(text, *parameters)


async def test_account_woken_while_its_crash_is_cleared_runs_again(store, clock):
    await store.run(with_state("ready"))
    await store.run(account_health.record_crash(EDGE_ACCOUNT, NOTE))
    runs: list[str] = []

    async def duty(_context: Any, account: Account, _timers: Any) -> float:
        runs.append(account.edge_account_id)
        return math.inf

    waking_store = WakingStore(store)
    async with open_supervisor(context_on(waking_store, clock), (duty,)) as supervisor:
        waking_store.wake = supervisor.account(EDGE_ACCOUNT).wake
        await eventually(ran_twice(runs))


class WakingStore(Passing):
    """A store that notifies an account's actor just before the record of the actor's crash is deleted."""

    wake: Callable[[], None]

    async def run(self, tx: Tx[T]) -> T:
        if "clear_crash" in repr(tx):
            self.wake()
        return await super().run(tx)


def ran_twice(runs: list[str]) -> Callable[[], Awaitable[bool | None]]:
    async def check() -> bool | None:
        return True if len(runs) == 2 else None

    return check


async def test_crash_that_cannot_be_recorded_stops_nothing(tmp_path, clock, expected_errors):
    """The service records crashes from the third one on. At the third crash, another program has locked the store."""
    expected_errors.allow("actor crashed")
    expected_errors.allow("store unavailable")
    async with open_store(sqlite_config(tmp_path)) as store:
        await store.run(with_state("ready"))
        await store.run(no_busy_timeout())
        async with open_supervisor(context_on(store, clock, crash_backoff_s=3600)) as supervisor:
            with closing(sqlite3.connect(tmp_path / "svc.db", isolation_level=None)) as other:
                other.execute("begin immediate")
                for _ in range(4):
                    await crash_once(supervisor)
                    await idle(supervisor)
                other.execute("rollback")
            assert await store.read(the_error()) is None
            await crash_once(supervisor)
            await idle(supervisor)
            assert await store.read(the_error()) == NOTE


def no_busy_timeout() -> Tx[None]:
    """Let statements fail almost immediately instead of waiting for other programs' locks."""
    yield sql("pragma busy_timeout = 1")


async def test_work_is_done_once_a_failing_store_recovers(tmp_path, clock, caplog, expected_errors):
    expected_errors.allow("store unavailable")
    async with open_store(sqlite_config(tmp_path)) as store:
        account_id = await store.run(with_state("ready"))
        await store.run(silent_since_long_ago(account_id))
        await store.run(no_busy_timeout())
        with closing(sqlite3.connect(tmp_path / "svc.db", isolation_level=None)) as other:
            other.execute("begin immediate")
            async with open_supervisor(context_on(store, clock)) as supervisor:
                supervisor.account(EDGE_ACCOUNT).wake()
                while store.condition.problem is None:
                    await trio.lowlevel.checkpoint()
                for _ in range(5):  # the service retries this work automatically, and the failures are not crashes
                    supervisor.account(EDGE_ACCOUNT).wake()
                    await idle(supervisor)
                assert supervisor.stats()["scheduled"] == 1
                other.execute("rollback")

                async def poll() -> bool | None:
                    account = accounts.present(await store.read(accounts.account_by_edge_id(EDGE_ACCOUNT)))
                    return True if account.state == "no_connection" else None

                await eventually(poll)
        assert (await store.read(the_error())).code == "worker_silent"  # the code shows that this is not a crash
    assert "actor crashed" not in caplog.text


def silent_since_long_ago(account_id: str) -> Tx[None]:
    """Make the account's last push so old that the account has to be marked as silent."""
    yield sql("update accounts set heard_at = 1 where id = $1", account_id)


async def test_call_during_a_store_failure_raises_store_unavailable(tmp_path, clock, expected_errors):
    expected_errors.allow("store unavailable")
    async with open_store(sqlite_config(tmp_path)) as store:
        await store.run(no_busy_timeout())

        async def write() -> None:
            await store.run(with_state("ready"))

        with closing(sqlite3.connect(tmp_path / "svc.db", isolation_level=None)) as other:
            other.execute("begin immediate")
            async with open_supervisor(context_on(store, clock)) as supervisor:
                with pytest.raises(StoreUnavailable, match="Another program has locked"):
                    await supervisor.account(EDGE_ACCOUNT).ask(write)


async def test_accounts_are_loaded_once_the_store_is_available(server, clock, expected_errors):
    expected_errors.allow("store unavailable")
    with postgres_config(server.url) as config:
        async with open_store(config, serving=True) as store, trio.open_nursery() as nursery:
            await store.run(with_state("ready"))
            await trio.to_thread.run_sync(server.kill)
            known: list[int] = []

            async def supervise() -> None:
                async with open_supervisor(context_on(store, clock)) as supervisor:
                    known.append(supervisor.stats()["known"])

            nursery.start_soon(supervise)
            while store.condition.problem is None:
                await trio.lowlevel.checkpoint()
            await trio.to_thread.run_sync(server.start)
            await eventually(lambda: _first(known))
        assert known == [1]


async def _first(found: list[int]) -> int | None:
    return found[0] if found else None
