"""Tests that a failing store reports the failure, loses no confirmed writes, and recovers automatically."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import asynccontextmanager, closing, suppress
from typing import TYPE_CHECKING

import pytest
import trio
from pydantic import SecretStr

from edge_worker.harness.service import eventually
from svc.config import ConfigError
from svc.errors import StoreUnavailable
from svc.store import open_store
from svc.store.engines.postgres.session import connect_alone
from svc.store.tx import Changed, sql
from tests.cut_network import open_network
from tests.databases import connected, execute, postgres_config, sqlite_config
from tests.journeys.conftest import free_port
from tests.store.table import count, ids, make_table, put

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

    from svc.config import StoreConfig
    from svc.store.tx import Store, Tx
    from tests.cut_network import Network
    from tests.databases import OwnPostgres


async def wait_until_healthy(store: Store) -> None:
    """Wait until the store works again. During the wait, only the store's own checks write to it."""

    async def healthy() -> bool | None:
        return True if store.condition.problem is None else None

    await eventually(healthy)


def texts(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.name == "svc.store.engines.condition"]


# ---------------------------------------------------------------------------------------------------------- SQLite


def set_to(text: str) -> Tx[None]:
    """Run a statement, for example to change a setting on the writer's connection."""
    yield sql(text)


async def test_store_is_unavailable_while_another_program_locks_the_file(tmp_path, caplog, expected_errors):
    expected_errors.allow("store unavailable")
    caplog.set_level(logging.INFO)
    async with open_store(sqlite_config(tmp_path), serving=True) as store:
        await store.run(make_table())
        await store.run(set_to("pragma busy_timeout = 1"))
        with closing(sqlite3.connect(tmp_path / "svc.db", isolation_level=None)) as other:
            other.execute("begin immediate")
            for number in range(3):
                with pytest.raises(StoreUnavailable) as refused:
                    await store.run(put(number))
            assert refused.value.message == store.condition.problem == "Another program has locked the service's store."
            assert (refused.value.status, refused.value.code, refused.value.retry_after_s) == (503, "busy", 5)
            other.execute("rollback")
        await wait_until_healthy(store)
        await store.run(put(4))
        assert await store.read(ids()) == [4]
    assert texts(caplog) == ["store unavailable", "store available again"]


def test_store_recovers_from_a_full_disk(tmp_path):
    """A limit on the file size simulates a full disk: SQLite's log cannot grow."""
    program = textwrap.dedent("""
        import resource, sys, trio
        from pathlib import Path
        from pydantic import SecretStr
        from svc.config import StoreConfig
        from svc.errors import StoreUnavailable
        from svc.store import open_store
        from tests.store.table import count, make_table, put
        from tests.store.engines.test_condition import wait_until_healthy

        async def main():
            async with open_store(StoreConfig(url=SecretStr(f"sqlite:///{sys.argv[1]}")), serving=True) as store:
                await store.run(make_table())
                _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
                resource.setrlimit(resource.RLIMIT_FSIZE, (Path(f"{sys.argv[1]}-wal").stat().st_size, hard))
                kept = 0
                try:
                    for kept in range(1000):
                        await store.run(put(kept))
                except StoreUnavailable as error:
                    print(error.message, store.condition.problem == error.message)
                assert await store.read(count()) == kept
                resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
                await wait_until_healthy(store)
                await store.run(put(-1))
                assert await store.read(count()) == kept + 1
                print("works again")

        trio.run(main)
    """)
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "svc.db")],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stdout.splitlines() == ["The service's store does not work. True", "works again"], done.stderr


async def test_failed_group_commit_fails_all_its_transactions_and_the_writer_continues(tmp_path, expected_errors):
    expected_errors.allow("store unavailable")
    async with open_store(sqlite_config(tmp_path)) as store:
        await store.run(make_table())
        await store.run(set_to("pragma busy_timeout = 1"))
        ends = []

        async def write(number: int) -> None:
            try:
                await store.run(put(number))
                ends.append("kept")
            except StoreUnavailable:
                ends.append("unavailable")

        with closing(sqlite3.connect(tmp_path / "svc.db", isolation_level=None)) as other:
            other.execute("begin immediate")
            async with trio.open_nursery() as nursery:
                for number in range(50):
                    nursery.start_soon(write, number)
        assert ends == ["unavailable"] * 50
        assert await store.read(count()) == 0
        await store.run(put(1))


@pytest.mark.parametrize("other_name", ["link.db", "folder/svc.db"])
async def test_second_service_through_a_symbolic_link_is_refused(tmp_path, other_name):
    home = tmp_path / "home"
    async with open_store(sqlite_config(home), serving=True):
        (tmp_path / "link.db").symlink_to(home / "svc.db")
        (tmp_path / "folder").symlink_to(home)
        config = sqlite_config(tmp_path).model_copy(update={"url": _sqlite_url(tmp_path / other_name)})
        with pytest.raises(ConfigError, match="Another svc serve uses"):
            async with open_store(config, serving=True):
                pytest.fail("there are two")


async def test_database_with_a_hard_link_is_refused(tmp_path):
    async with open_store(sqlite_config(tmp_path)):
        pass
    os.link(tmp_path / "svc.db", tmp_path / "other.db")
    with pytest.raises(ConfigError, match="hard link"):
        async with open_store(sqlite_config(tmp_path), serving=True):
            pytest.fail("it can be reached by two names")


def _sqlite_url(path):
    return type(sqlite_config(path.parent).url)(f"sqlite:///{path}")


async def wait_until_unavailable(store: Store) -> None:
    """Wait until the store's own checks have detected an outage."""

    async def unavailable() -> bool | None:
        return True if store.condition.problem is not None else None

    await eventually(unavailable)


@pytest.mark.parametrize("how", ["moved", "replaced"])
async def test_store_refuses_writes_while_its_file_is_moved_away(tmp_path, caplog, expected_errors, how):
    expected_errors.allow("store unavailable")
    caplog.set_level(logging.INFO)
    path, aside = tmp_path / "svc.db", tmp_path / "aside.db"
    async with open_store(sqlite_config(tmp_path), serving=True) as store:
        await store.run(make_table())
        await store.run(put(1))
        path.rename(aside)
        if how == "replaced":
            path.write_bytes(b"")
        await wait_until_unavailable(store)
        with pytest.raises(StoreUnavailable, match="moved, deleted or replaced") as refused:
            await store.run(put(2))
        assert (refused.value.status, refused.value.code) == (503, "busy")
        assert await store.read(ids()) == [1]
        aside.replace(path)
        await wait_until_healthy(store)
        await store.run(put(3))
        assert await store.read(ids()) == [1, 3]
    assert texts(caplog) == ["store unavailable", "store available again"]
    [line] = [record for record in caplog.records if record.message == "store unavailable"]
    assert line.error.startswith(f"{path} is no longer the file that the service opened")
    assert "restore a backup and start the service again" in line.error


async def test_store_refuses_writes_after_its_file_is_deleted(tmp_path, expected_errors):
    expected_errors.allow("store unavailable")
    async with open_store(sqlite_config(tmp_path), serving=True) as store:
        await store.run(make_table())
        for name in ("svc.db", "svc.db-wal", "svc.db-shm"):
            (tmp_path / name).unlink()
        await wait_until_unavailable(store)
        with pytest.raises(StoreUnavailable):
            await store.run(put(1))


# ------------------------------------------------------------------------------------------------------ PostgreSQL


@pytest.fixture
def config(server: OwnPostgres) -> Iterator[StoreConfig]:
    with postgres_config(server.url) as made:
        yield made


async def check_second_service_is_refused(config: StoreConfig) -> None:
    with pytest.raises(ConfigError, match="Another svc serve uses"):
        async with open_store(config, serving=True):
            pytest.fail("there are two")


async def test_store_works_and_is_locked_after_a_server_restart(server, config, caplog, expected_errors):
    expected_errors.allow("store unavailable")
    caplog.set_level(logging.INFO)
    async with open_store(config, serving=True) as store:
        await store.run(make_table())
        await check_second_service_is_refused(config)
        await trio.to_thread.run_sync(server.kill)
        with pytest.raises(StoreUnavailable, match="is not responding"):
            await store.run(put(1))
        with pytest.raises(StoreUnavailable):
            await store.read(count())
        assert store.condition.problem == "The service's store is not responding; try again."
        await trio.to_thread.run_sync(server.start)
        await wait_until_healthy(store)
        await check_second_service_is_refused(config)
        await store.run(put(2))
        assert await store.read(ids()) == [2]
    assert texts(caplog) == ["store unavailable", "store available again"]
    async with open_store(config, serving=True) as store:
        assert await store.read(ids()) == [2]


async def test_outage_without_requests_is_detected(server, config, expected_errors):
    expected_errors.allow("store unavailable")
    async with open_store(config, serving=True) as store:
        await trio.to_thread.run_sync(server.kill)
        await wait_until_unavailable(store)
        await trio.to_thread.run_sync(server.start)
        await wait_until_healthy(store)


async def test_confirmed_writes_survive_server_restarts(server, config, expected_errors):
    expected_errors.allow("store unavailable")
    answered, unknown = set(), set()
    restarts = 0

    async def write(store: Store, lane: int) -> None:
        number = lane
        while restarts < 2:
            number += 8
            try:
                await store.run(put(number))
                answered.add(number)
            except StoreUnavailable as error:
                if "may have been saved" in error.message:
                    unknown.add(number)

    async with open_store(config, serving=True) as store:
        await store.run(make_table())
        async with trio.open_nursery() as nursery:
            for lane in range(8):
                nursery.start_soon(write, store, lane)
            for _ in range(2):
                before = len(answered)
                while len(answered) < before + 100:
                    await trio.lowlevel.checkpoint()
                await trio.to_thread.run_sync(server.kill)
                await trio.to_thread.run_sync(server.start)
                restarts += 1
        await wait_until_healthy(store)
        stored = set(await store.read(ids()))
    assert answered <= stored <= answered | unknown


async def test_service_stops_writing_and_ends_after_another_takes_over(server, config, expected_errors):
    expected_errors.allow("store taken over by another service|store unavailable")

    def take() -> None:
        """Take over the store, as another service does if it reconnects first."""
        execute(
            config.url.get_secret_value(),
            "begin; lock table serving; select pg_terminate_backend(pid, 5000) from pg_stat_activity"
            " where application_name = 'svc'; update serving set epoch = epoch + 1; commit",
        )

    async def serve() -> None:
        async with open_store(config, serving=True) as store:
            await store.run(make_table())
            await trio.to_thread.run_sync(take)
            while True:
                with suppress(StoreUnavailable):
                    await store.run(put(1))

    with pytest.raises(ConfigError, match="taken over"):
        await serve()
    async with open_store(config) as beside:
        assert await beside.read(ids()) == []


def the_epoch() -> Tx[int]:
    rows = yield sql("select epoch from serving")
    return int(rows[0]["epoch"])


def the_locked_session() -> Tx[dict[str, int]]:
    """Return the TCP settings in effect for this session, and check that the session has the store's lock."""
    held = yield sql("select 1 from pg_locks where locktype = 'advisory' and pid = pg_backend_pid() and granted")
    assert held
    rows = yield sql("select name, cast(setting as bigint) as setting from pg_settings where name like 'tcp_%'")
    return {row["name"]: row["setting"] for row in rows}


@pytest.mark.rule("X18")
async def test_server_drops_the_lock_of_a_lost_machine_within_seconds(server):
    """With these TCP settings, the server's kernel drops the connection after 10 s. The test needs TCP, because Unix
    sockets do not support them.
    """
    host, _, port = free_port().partition(":")
    with server.reached_by_tcp(host, int(port)) as url, postgres_config(url) as config:
        async with open_store(config, serving=True) as store:
            found = await store.peek(the_locked_session())
    probed_s = found["tcp_keepalives_idle"] + found["tcp_keepalives_interval"] * found["tcp_keepalives_count"]
    assert (probed_s, found["tcp_user_timeout"]) == (10, 10_000)  # ms
    with postgres_config(server.url) as config:
        async with open_store(config, serving=True) as store:
            assert set((await store.peek(the_locked_session())).values()) == {0}


# In seconds. This is far less than the timeouts for a statement (30 and 40 s), but far more than the checks need on a
# busy machine.
SOON_S = 25


@asynccontextmanager
async def cuttable_network(server: OwnPostgres) -> AsyncIterator[tuple[Network, StoreConfig]]:
    """Yield a network that can be cut, and the configuration of an empty store behind it."""
    host, _, port = free_port().partition(":")
    with server.reached_by_tcp(host, int(port)) as url, postgres_config(url) as config:
        async with open_network(config.url.get_secret_value()) as (network, through):
            yield network, config.model_copy(update={"url": SecretStr(through)})


def recording_writer(store: Store, results: list[str]) -> Callable[[int], Awaitable[None]]:
    """Return a function that writes a number and appends the result to `results`."""

    async def write(number: int) -> None:
        try:
            await store.run(put(number))
            results.append("kept")
        except StoreUnavailable as error:
            results.append(error.message)

    return write


SILENT = "The service's store is not responding; try again."


async def test_transactions_fail_immediately_while_the_server_is_silent_and_recover(server, caplog, expected_errors):
    expected_errors.allow("store unavailable")
    caplog.set_level(logging.INFO)
    async with cuttable_network(server) as (network, config), open_store(config, serving=True) as store:
        await store.run(make_table())
        before: list[str] = []
        count_of = 3 * config.pool_size
        network.cut()
        with trio.fail_after(SOON_S):
            # Some transactions have to wait for a connection, because there are more transactions than connections.
            async with trio.open_nursery() as nursery:
                for number in range(count_of):
                    nursery.start_soon(recording_writer(store, before), number)
        assert before == [SILENT] * count_of
        assert texts(caplog) == ["store unavailable"]
        with trio.fail_after(SOON_S):
            for number in range(100):
                with pytest.raises(StoreUnavailable, match="is not responding"):
                    await store.run(put(number))
                with pytest.raises(StoreUnavailable, match="is not responding"):
                    await store.peek(count())
        network.restore(forget=True)
        await wait_until_healthy(store)
        after: list[str] = []
        async with trio.open_nursery() as nursery:
            for number in range(count_of):
                nursery.start_soon(recording_writer(store, after), number)
        assert after == ["kept"] * count_of
        assert await store.read(ids()) == list(range(count_of))
    assert texts(caplog) == ["store unavailable", "store available again"]


async def test_commit_without_a_response_is_reported_as_possibly_saved(server, expected_errors):
    expected_errors.allow("store unavailable")
    notified: list[str] = []

    def then_cut() -> Tx[None]:
        """Drop the server's responses after the statements, so that the commit gets no response."""
        yield Changed("edge")
        yield from put(1)
        network.cut_answers()

    async with cuttable_network(server) as (network, config), open_store(config, serving=True) as store:
        await store.run(make_table())
        with (
            store.changes.subscribe(notified.append),
            trio.fail_after(SOON_S),
            pytest.raises(StoreUnavailable, match="may have been saved"),
        ):
            await store.run(then_cut())
        assert notified == ["edge"]
        network.restore(forget=True)
        await wait_until_healthy(store)
        assert await store.read(ids()) == [1]


async def test_cancelled_caller_does_not_wait_for_a_silent_server(server, expected_errors):
    """After the cancellation, the client asks the server to stop the statement. The client must not wait for the
    response, because the server is silent.
    """
    expected_errors.allow("store unavailable")
    sent = trio.Event()
    token = trio.lowlevel.current_trio_token()

    def held() -> Tx[None]:
        yield sql("select 1")
        network.cut()
        token.run_sync_soon(sent.set)
        yield sql("select 2")

    async def run() -> None:
        with suppress(StoreUnavailable):  # the statement fails when its connection is closed
            await store.run(held())

    async with cuttable_network(server) as (network, config), open_store(config, serving=True) as store:
        await store.run(make_table())
        with trio.fail_after(SOON_S):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(run)
                await sent.wait()
                nursery.cancel_scope.cancel()
        network.restore()
        await wait_until_healthy(store)


async def test_full_pool_does_not_count_as_an_outage(server, config, expected_errors):
    """If all connections of the pool are in use, the check for outages still succeeds, on a separate connection."""
    expected_errors.allow("store unavailable")
    asleep = "select count(*) from pg_stat_activity where application_name = 'svc' and wait_event = 'PgSleep'"

    async def all_asleep() -> bool | None:
        found = await trio.to_thread.run_sync(connected, server.url, lambda another: another.fetchval(asleep))
        return True if found == config.pool_size else None

    async with open_store(config, serving=True) as store, trio.open_nursery() as nursery:
        for _ in range(config.pool_size):
            nursery.start_soon(store.run, set_to("select pg_sleep(60)"))
        await eventually(all_asleep)
        store.condition.failed(StoreUnavailable())
        await wait_until_healthy(store)
        assert await all_asleep()
        nursery.cancel_scope.cancel()


@pytest.mark.rule("X18")
def test_client_connections_have_short_tcp_timeouts(server):
    async def options() -> list[int]:
        connection = await connect_alone(url)
        try:
            own = connection._transport.get_extra_info("socket")
            names = (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT, socket.TCP_USER_TIMEOUT)
            return [own.getsockopt(socket.IPPROTO_TCP, name) for name in names]
        finally:
            await connection.close()

    host, _, port = free_port().partition(":")
    with server.reached_by_tcp(host, int(port)) as url:
        assert asyncio.run(options()) == [4, 2, 3, 10_000]


async def test_commands_work_while_a_service_is_running(server, config):
    async with open_store(config, serving=True), open_store(config) as beside:
        await beside.run(make_table())
        assert await beside.read(count()) == 0


async def test_two_services_can_use_two_schemas_of_one_database(server):
    with postgres_config(server.url) as first, postgres_config(server.url) as second:
        async with open_store(first, serving=True), open_store(second, serving=True) as store:
            assert await store.read(the_epoch()) == 1
