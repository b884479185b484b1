"""Tests of PostgreSQL: cancellation across two event loops, and concurrent transactions."""

from __future__ import annotations

import random
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

import asyncpg
import pytest
import trio

from edge_worker.harness.sampling import SEED
from edge_worker.harness.service import eventually
from svc.errors import Conflict, StoreUnavailable
from svc.store import open_store, retention
from svc.store.engines.postgres.loop_thread import LoopThread
from svc.store.idempotency import Claim, StoredResponse, keep_response, recall
from svc.store.tx import sql
from tests.clock import START_MS
from tests.databases import POOL_SIZE, connected, postgres_config
from tests.store.makers import a_user
from tests.store.table import count, ids, make_table, pair, put

if TYPE_CHECKING:
    from svc.store.tx import Tx


@pytest.fixture
def config(postgres_url):
    with postgres_config(postgres_url) as made:
        yield made


@pytest.fixture
async def table(config):
    async with open_store(config) as store:
        await store.run(make_table())
        yield store


def value(text: str) -> Tx[int]:
    rows = yield sql(text)
    return int(rows[0]["value"])


def sleeping() -> Tx[None]:
    yield from put(1)
    yield sql("select pg_sleep(60)")


_OURS = "usename = current_user and application_name = 'svc' and pid <> pg_backend_pid()"


async def test_cancellation_stops_the_statement_and_rolls_back(table):
    running = value(f"select count(*) as value from pg_stat_activity where {_OURS} and state <> 'idle'")

    async def is_sleeping() -> bool | None:
        shown = f"select count(*) as value from pg_stat_activity where {_OURS} and wait_event = 'PgSleep'"
        return await table.read(value(shown)) == 1 or None

    async with trio.open_nursery() as nursery:
        nursery.start_soon(table.run, sleeping())
        await eventually(is_sleeping, every_s=0.02)
        nursery.cancel_scope.cancel()
    assert nursery.cancel_scope.cancelled_caught
    assert await table.read(count()) == 0
    assert await table.read(running) == 0


async def test_cancelled_transaction_releases_its_connection(table):
    async with trio.open_nursery() as nursery:
        with trio.move_on_after(0.3):
            async with trio.open_nursery() as sleepers:
                for number in range(POOL_SIZE * 2):
                    sleepers.start_soon(table.run, _sleep_after(put(number)))
        for _ in range(POOL_SIZE * 2):
            nursery.start_soon(table.read, count())
    assert await table.read(count()) == 0


def _sleep_after(tx: Tx[None]) -> Tx[None]:
    yield from tx
    yield sql("select pg_sleep(60)")


def ill_typed() -> Tx[None]:
    yield sql("select $1::bigint", "not a number")


async def test_interrupted_statement_does_not_affect_the_next_one(table, postgres_url):
    """The statement's parameter cannot be encoded. By the time asyncpg detects this, the server has already begun a
    transaction that asyncpg does not know about.
    """
    open_ones = f"select count(*) from pg_stat_activity where {_OURS} and xact_start is not null"
    with pytest.raises(asyncpg.DataError):
        await table.peek(ill_typed())
    assert await trio.to_thread.run_sync(connected, postgres_url, lambda another: another.fetchval(open_ones)) == 0
    assert await table.read(count()) == 0
    with pytest.raises(asyncpg.DataError):
        await table.peek(ill_typed())
    assert await table.peek(count()) == 0


async def test_cancelled_peeks_do_not_affect_later_transactions(table):
    chance = random.Random(5)

    async def peek_for(seconds: float) -> None:
        with trio.move_on_after(seconds):
            await table.peek(count())

    for _ in range(100):
        async with trio.open_nursery() as nursery:
            for _ in range(POOL_SIZE):
                nursery.start_soon(peek_for, chance.uniform(0, 0.002))
        assert await table.read(count()) == 0


async def test_many_cancellations_leak_no_connections_and_leave_no_partial_changes(table):
    chance = random.Random(11)
    answered = set()

    async def one(number, limit_s):
        with trio.move_on_after(limit_s):
            await table.run(pair(number))
            answered.add(number)

    for storm in range(5):
        async with trio.open_nursery() as nursery:
            for number in range(storm * 100 + 1, storm * 100 + 101):
                # Cancel some calls immediately, before the loop's thread has begun to run them.
                nursery.start_soon(one, number, chance.choice([0, chance.uniform(0, 0.004), chance.uniform(0, 0.1)]))
    assert {number for number in await table.read(ids()) if number > 0} == answered
    assert await table.read(count()) == 2 * len(answered)
    # Use all connections of the pool. All connections must work, and no connection may be in a transaction.
    async with trio.open_nursery() as nursery:
        for number in range(POOL_SIZE * 3):
            nursery.start_soon(table.run, put(10_000 + number))
    assert (
        await table.read(
            value(f"select count(*) as value from pg_stat_activity where {_OURS} and state like '%in tr%'")
        )
        == 0
    )
    assert await table.read(value(f"select count(*) as value from pg_stat_activity where {_OURS}")) < POOL_SIZE


async def test_transactions_wait_for_a_free_connection(table):
    done = []

    async def one(number):
        await table.run(_nap(put(number)))
        done.append(number)

    async with trio.open_nursery() as nursery:
        for number in range(POOL_SIZE * 3):
            nursery.start_soon(one, number)
    assert len(done) == await table.read(count()) == POOL_SIZE * 3


def _nap(tx: Tx[None]) -> Tx[None]:
    yield from tx
    yield sql("select pg_sleep(0.02)")


async def test_deadlock_commits_one_transaction_and_asks_the_other_to_retry(table):
    def both(first: int, second: int) -> Tx[None]:
        yield sql("set local deadlock_timeout = '100ms'")
        yield sql("update t set n = n + 1 where id = $1", first)
        yield sql("select pg_advisory_xact_lock_shared(42)")
        yield sql(  # wait until the other transaction has reached the same point
            "do $$ begin while (select count(*) from pg_locks where locktype = 'advisory' and objid = 42"
            " and database = (select oid from pg_database where datname = current_database())) < 2"
            " loop perform pg_sleep(0.01); end loop; end $$"
        )
        yield sql("update t set n = n + 1 where id = $1", second)

    await table.run(put(1))
    await table.run(put(2))
    ends = []

    async def one(first, second):
        try:
            await table.run(both(first, second))
            ends.append("kept")
        except StoreUnavailable:
            ends.append("busy")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(one, 1, 2)
        nursery.start_soon(one, 2, 1)
    assert sorted(ends) == ["busy", "kept"]
    assert await table.read(value("select cast(sum(n) as bigint) as value from t")) == 2


async def test_lock_timeout_asks_the_caller_to_retry(table):
    def hold() -> Tx[None]:
        yield from _touch(1)
        held.set()
        yield sql("select pg_sleep(60)")

    def impatient() -> Tx[None]:
        yield sql("set local lock_timeout = '50ms'")
        yield from _touch(1)

    held = threading.Event()
    await table.run(put(1))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(table.run, hold())
        await trio.to_thread.run_sync(held.wait)
        with pytest.raises(StoreUnavailable):
            await table.run(impatient())
        nursery.cancel_scope.cancel()
    assert await table.read(value("select n as value from t where id = 1")) == 0


def _touch(number: int) -> Tx[None]:
    yield sql("update t set n = 1 where id = $1", number)


async def test_cancellation_waits_for_a_running_commit(table):
    """A deferred trigger delays the commit. A cancellation during the commit has no effect: the result is returned."""

    def slow_commit() -> Tx[None]:
        yield sql(
            "create function slow() returns trigger language plpgsql"
            " as 'begin perform pg_advisory_xact_lock(43); return null; end'"
        )
        yield sql(
            "create constraint trigger slow after insert on t deferrable initially deferred"
            " for each row execute function slow()"
        )

    await table.run(slow_commit())
    answered = []
    held = threading.Event()
    hung_up, let_go = trio.CancelScope(), trio.CancelScope()

    def hold() -> Tx[None]:
        yield sql("select pg_advisory_xact_lock(43)")
        held.set()
        yield sql("select pg_sleep(60)")

    async def holder() -> None:
        with let_go:
            await table.run(hold())

    async def hangs_up() -> None:
        with hung_up:
            await table.run(put(1))
            answered.append(1)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(holder)
        await trio.to_thread.run_sync(held.wait)
        nursery.start_soon(hangs_up)
        waits = f"select count(*) as value from pg_stat_activity where {_OURS} and wait_event = 'advisory'"
        while await table.read(value(waits)) == 0:
            pass
        hung_up.cancel()
        let_go.cancel()
    assert answered == await table.read(ids()) == [1]


@pytest.mark.parametrize("engine_method", ["run", "read"])
async def test_lost_connection_is_reported_and_replaced(table, engine_method, expected_errors):
    expected_errors.allow("store unavailable")
    await table.run(put(1))
    with pytest.raises(StoreUnavailable):
        await getattr(table, engine_method)(_cut())
    await table.run(put(2))
    assert await table.read(ids()) == [1, 2]


def _cut() -> Tx[None]:
    yield sql("select pg_terminate_backend(pg_backend_pid())")
    yield from count()


async def test_read_uses_one_snapshot(table):
    inside = threading.Event()

    def twice() -> Tx[tuple[int, int]]:
        first = yield from count()
        inside.set()
        yield sql("select pg_sleep(0.3)")
        second = yield from count()
        return first, second

    seen = []

    async def read():
        seen.append(await table.read(twice()))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(read)
        await trio.to_thread.run_sync(inside.wait)
        await table.run(put(1))
    assert seen == [(0, 0)]


async def test_transaction_after_a_cancelled_one_is_committed(table):
    """A cancellation can interrupt the BEGIN statement. The connection is then used for the next transaction."""
    chance = random.Random(SEED)
    numbers = range(1, 301)

    def put_and_fail(number: int) -> Tx[None]:
        yield from put(number)
        raise Conflict("link_exists")

    async def cancelled(number: int) -> None:
        # The cancellation can also interrupt the ROLLBACK of a failed transaction.
        work = put if number % 2 else put_and_fail
        with trio.move_on_after(chance.uniform(0, 0.002)), suppress(Conflict):
            await table.run(work(number))

    for number in numbers:
        async with trio.open_nursery() as nursery:
            for other in range(POOL_SIZE):
                nursery.start_soon(cancelled, -number * POOL_SIZE - other)
        await table.run(put(number))
    assert [number for number in await table.read(ids()) if number > 0] == list(numbers)


async def test_cancellation_before_the_first_step_ends_the_call():
    """In asyncio, a task that is cancelled before it starts runs none of its code. The call must end nevertheless."""
    loop_thread = LoopThread()
    ran = []

    async def work(_crossing):
        ran.append(True)

    try:
        for _ in range(200):
            with trio.CancelScope() as scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(loop_thread.cross, work)
                    await trio.lowlevel.checkpoint()
                    scope.cancel()
    finally:
        await trio.to_thread.run_sync(loop_thread.close)


async def test_response_that_replaces_an_expired_one_is_not_deleted(table):
    """Two transactions find the same expired response: one deletes the response, and the other replaces it.

    The deletion waits for the other transaction, and then checks its condition again.
    """
    claim = Claim(await table.run(a_user()), None, "POST", "/v1/sites", "key", "digest")
    first, second = StoredResponse(201, b"1", "", {}), StoredResponse(201, b"2", "", {})
    begun = threading.Event()

    def replacing() -> Tx[None]:
        yield from keep_response(claim, second, START_MS, 1000)
        begun.set()
        while not (yield sql("select 1 from pg_locks where not granted")):
            pass

    await table.run(keep_response(claim, first, START_MS - 1000, 1000))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(table.run, replacing())
        await trio.to_thread.run_sync(begun.wait)
        assert await table.run(retention.delete_responses(START_MS)) == 0
    assert await table.read(recall(claim, START_MS)) == second
