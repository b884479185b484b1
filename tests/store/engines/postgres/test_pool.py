"""Tests of the pool of PostgreSQL connections with a real server: size, order, cancelled waits and lost connections."""

from __future__ import annotations

import asyncio
import random
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import asyncpg
import pytest

from edge_worker.harness.sampling import SEED
from svc.store.engines.postgres.pool import Pool
from tests.databases import postgres_config

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

SIZE = 3


class Server:
    """Opens connections to a real server. While `refuses` is True, every attempt fails."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.refuses = False

    async def open_connection(self, opened: Callable[[Any], None]) -> Any:
        connection = await asyncpg.connect(self._url)
        opened(connection)
        if self.refuses:
            raise OSError("refused")
        return connection


@pytest.fixture
def server(postgres_url):
    with postgres_config(postgres_url) as config:
        yield Server(config.url.get_secret_value())


@pytest.fixture
def in_asyncio(server):
    """A function that runs a scenario with a new pool in an asyncio loop, and then closes the pool."""

    def run(scenario: Callable[[Pool], Coroutine[Any, Any, None]]) -> None:
        async def whole() -> None:
            pool = Pool(server.open_connection, SIZE)
            try:
                await scenario(pool)
            finally:
                await pool.close()

        # Run the loop in another thread, because browser tests may already run an event loop in this thread.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, whole()).result()

    return run


async def process_id(connection: Any) -> int:
    return int(await connection.fetchval("select pg_backend_pid()"))


async def all_of(pool: Pool) -> set[int]:
    """Use all connections at the same time, and return the ids of their server processes.

    Fails if a connection is lost.
    """
    held = [await pool.acquire(10) for _ in range(SIZE)]
    ids = {await process_id(connection) for connection in held}
    for connection in held:
        pool.release(connection)
    return ids


def test_connections_are_used_again_and_never_more_than_the_size_are_open(in_asyncio):
    async def scenario(pool: Pool) -> None:
        seen: set[int] = set()

        async def use() -> None:
            for _ in range(20):
                connection = await pool.acquire(10)
                seen.add(await process_id(connection))
                pool.release(connection)

        await asyncio.gather(*(use() for _ in range(20)))
        assert len(seen) == SIZE
        assert await all_of(pool) == seen

    in_asyncio(scenario)


def test_connections_are_given_in_the_order_of_the_requests(in_asyncio):
    async def scenario(pool: Pool) -> None:
        held = [await pool.acquire(10) for _ in range(SIZE)]
        order: list[int] = []

        async def wait(number: int) -> None:
            connection = await pool.acquire(10)
            order.append(number)
            pool.release(connection)

        waiting = []
        for number in range(9):
            waiting.append(asyncio.create_task(wait(number)))
            await asyncio.sleep(0)
        for connection in held:
            pool.release(connection)
        await asyncio.gather(*waiting)
        assert order == sorted(order)

    in_asyncio(scenario)


def test_a_full_pool_ends_a_wait_with_a_timeout(in_asyncio):
    async def scenario(pool: Pool) -> None:
        held = [await pool.acquire(10) for _ in range(SIZE)]
        with pytest.raises(TimeoutError):
            await pool.acquire(0.01)
        pool.release(held[0])
        held[0] = await pool.acquire(10)
        for connection in held:
            pool.release(connection)

    in_asyncio(scenario)


def test_cancelled_tasks_lose_no_connection(in_asyncio):
    async def scenario(pool: Pool) -> None:
        chance = random.Random(SEED)

        async def use() -> None:
            for _ in range(10):
                connection = await pool.acquire(10)
                try:
                    await asyncio.sleep(0)
                finally:
                    pool.release(connection)

        for _ in range(40):
            tasks = [asyncio.create_task(use()) for _ in range(12)]
            for task in chance.sample(tasks, 8):
                for _ in range(chance.randrange(6)):
                    await asyncio.sleep(0)
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        assert len(await all_of(pool)) == SIZE

    in_asyncio(scenario)


def test_a_connection_that_broke_is_replaced(in_asyncio):
    async def scenario(pool: Pool) -> None:
        before = await all_of(pool)
        idle = await pool.acquire(10)
        pool.release(idle)
        idle.terminate()  # no task is using the connection
        used = await pool.acquire(10)
        used.terminate()
        pool.release(used)
        after = await all_of(pool)
        assert len(after) == SIZE
        assert len(before & after) == SIZE - 2

    in_asyncio(scenario)


def test_a_connection_within_a_transaction_is_closed(in_asyncio):
    async def scenario(pool: Pool) -> None:
        connection = await pool.acquire(10)
        await connection.execute("begin")
        pool.release(connection)
        assert connection.is_closed()
        assert len(await all_of(pool)) == SIZE

    in_asyncio(scenario)


def test_a_cut_ends_waits_and_closes_every_connection(in_asyncio):
    async def scenario(pool: Pool) -> None:
        held = [await pool.acquire(10) for _ in range(SIZE)]
        before = {await process_id(connection) for connection in held}
        waiting = asyncio.create_task(pool.acquire(60))
        await asyncio.sleep(0)
        pool.cut()
        with pytest.raises(TimeoutError):
            await waiting
        for connection in held:
            assert connection.is_closed()
            pool.release(connection)
        assert not before & await all_of(pool)

    in_asyncio(scenario)


def test_a_connection_that_cannot_be_opened_leaves_its_place_to_the_next_task(in_asyncio, server):
    async def scenario(pool: Pool) -> None:
        server.refuses = True
        tasks = [asyncio.create_task(pool.acquire(10)) for _ in range(2 * SIZE)]
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert [str(outcome) for outcome in outcomes] == ["refused"] * 2 * SIZE
        server.refuses = False
        assert len(await all_of(pool)) == SIZE

    in_asyncio(scenario)
