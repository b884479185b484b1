"""Tests of SQLite: group commits, and failures during a commit."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
import trio

from svc.errors import StoreUnavailable
from svc.store import open_store
from svc.store.tx import sql
from tests.databases import sqlite_config
from tests.store.table import count, ids, make_table, put

if TYPE_CHECKING:
    from svc.store.tx import Tx


@pytest.fixture
def path(tmp_path):
    return tmp_path / "svc.db"


@pytest.fixture
async def table(tmp_path):
    async with open_store(sqlite_config(tmp_path)) as store:
        await store.run(make_table())
        yield store


async def test_waiting_transactions_share_one_commit(table, path):
    """The test checks the size of the write-ahead log, because each separate commit would write a page."""
    async with trio.open_nursery() as nursery:
        before = path.with_name("svc.db-wal").stat().st_size
        for number in range(100):
            nursery.start_soon(table.run, put(number))
    grown_bytes = path.with_name("svc.db-wal").stat().st_size - before
    assert await table.read(count()) == 100
    assert grown_bytes < 50 * 4_096


async def test_result_is_returned_after_the_commit(table, path):
    async def one(number):
        await table.run(put(number))
        with closing(sqlite3.connect(path)) as beside:
            assert beside.execute("select count(*) from t where id = ?", (number,)).fetchone() == (1,)

    async with trio.open_nursery() as nursery:
        for number in range(20):
            nursery.start_soon(one, number)


def test_confirmed_writes_survive_a_kill(path):
    program = textwrap.dedent("""
        import sys, trio
        from pathlib import Path
        from svc.store.engines.sqlite.opening import open_sqlite
        from tests.store.table import make_table, put

        async def main():
            async with open_sqlite(Path(sys.argv[1])) as store, trio.open_nursery() as nursery:
                await store.run(make_table())
                async def write(lane):
                    for number in range(lane, 10_000_000, 8):
                        await store.run(put(number))
                        print(number, flush=True)
                for lane in range(8):
                    nursery.start_soon(write, lane)

        trio.run(main)
    """)
    with subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        answered = [int(process.stdout.readline()) for _ in range(500)]
        process.send_signal(signal.SIGKILL)
        answered += [int(line) for line in process.stdout.read().splitlines(keepends=True) if line.endswith("\n")]
    with closing(sqlite3.connect(path)) as store:
        kept = {row[0] for row in store.execute("select id from t")}
    assert set(answered) <= kept
    assert len(kept - set(answered)) <= 8  # when the process was killed, each task was waiting for at most one write


async def test_error_that_rolls_back_the_group_fails_all_its_transactions(table):
    """`or rollback` ends the transaction of the whole group, as SQLite does after a disk error."""

    def ending() -> Tx[None]:
        yield sql("insert or rollback into t (id, n) values (1, 0)")

    await table.run(put(1))
    ends = []

    async def one(tx):
        try:
            await table.run(tx)
            ends.append("kept")
        except sqlite3.Error:
            ends.append("undone")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(one, put(2))
        nursery.start_soon(one, ending())
        nursery.start_soon(one, put(3))
    kept = ends.count("kept")
    assert ends.count("undone") >= 1
    assert await table.read(count()) == 1 + kept
    await table.run(put(4))
    assert 4 in await table.read(ids())


async def test_full_disk_is_reported_and_keeps_existing_data(table, expected_errors):
    expected_errors.allow("store unavailable")
    pages = (await table.run(_all("pragma page_count")))[0]["page_count"]
    await table.run(_all(f"pragma max_page_count = {pages + 2}"))

    def much() -> Tx[None]:
        for number in range(100_000):
            yield from put(number)

    with pytest.raises(StoreUnavailable, match="full"):
        await table.run(much())
    assert await table.read(count()) == 0
    await table.run(put(1))
    assert await table.read(ids()) == [1]


def _all(text: str) -> Tx[list[dict[str, int]]]:
    return [dict(row) for row in (yield sql(text))]


async def test_writer_waits_for_another_programs_lock(table, path):
    """A short transaction of another program, such as a command, only delays the service's transactions."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("begin immediate")
        other.execute("insert into t (id, n) values (1, 0)")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(table.run, put(2))
            await trio.testing.wait_all_tasks_blocked()
            assert await table.read(count()) == 0
            other.execute("commit")
    assert await table.read(ids()) == [1, 2]


async def test_store_files_are_private_to_their_owner(table, path):
    await table.run(put(1))
    modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.glob("svc.db*")}
    assert modes == {"svc.db": 0o600, "svc.db-wal": 0o600, "svc.db-shm": 0o600}


async def test_commits_are_durable_and_foreign_keys_are_enforced(table):
    assert (await table.run(_all("pragma synchronous"))) == [{"synchronous": 2}]
    assert (await table.run(_all("pragma foreign_keys"))) == [{"foreign_keys": 1}]
    assert (await table.read(_all("pragma journal_mode"))) == [{"journal_mode": "wal"}]


async def test_missing_folder_is_created(tmp_path):
    async with open_store(sqlite_config(tmp_path / "new" / "deep")):
        pass
    assert (tmp_path / "new" / "deep" / "svc.db").exists()
